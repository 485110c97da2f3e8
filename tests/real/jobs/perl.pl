# Computes, forks, waits with select and alarm; prints results and whether every wait was long enough.
use strict;
use warnings;
use Time::HiRes qw(time sleep usleep alarm);
use POSIX ();

sub lasted { my ($seconds, $wait) = @_; my $start = time; $wait->(); return time - $start >= $seconds - 0.001 ? 1 : 0 }

my $s = 0;
$s = ($s * 31 + $_) % 1000003 for 1 .. 5000000;
my %h;
$h{$_ % 50021} .= $_ for 1 .. 300000;
my $length = 0;
$length += length $h{$_} for sort keys %h;
print "$s $length\n";
my @waits = (
    lasted(0.2, sub { select undef, undef, undef, 0.2 }),
    lasted(0.2, sub { sleep 0.2 }),
    lasted(0.2, sub { usleep 200000 }),
    lasted(0.2, sub { eval { local $SIG{ALRM} = sub { die "over\n" }; alarm 0.2; sleep 10; }; }),
);
print "@waits\n";
for my $k (1 .. 20) {
    my $pid = fork // die;
    if (!$pid) { my $t = 0; $t += $_ * $k for 1 .. 60000; POSIX::_exit($t % 100) }
    waitpid $pid, 0;
    print $? >> 8, $k < 20 ? ' ' : "\n";
}
exit 3;
