# Threads that compute and wait with timeouts; processes; prints results and whether every wait was long enough.
require 'timeout'
require 'digest'

def work(n)
  s = 0
  n.times { |i| s = (s * 31 + i) % 1_000_003 }
  s
end

def lasted(seconds)
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  yield
  Process.clock_gettime(Process::CLOCK_MONOTONIC) - start >= seconds
end

sums = Array.new(3) { |k| Thread.new { work(1_500_000 + k) } }
waits = Thread.new do
  r, = IO.pipe
  [lasted(0.2) { sleep 0.2 },
   lasted(0.2) { IO.select([r], nil, nil, 0.2) },
   lasted(0.2) { Queue.new.pop(timeout: 0.2) rescue sleep 0.2 },
   lasted(0.2) { begin; Timeout.timeout(0.2) { sleep }; rescue Timeout::Error; end }]
end
p sums.map(&:value), waits.value
p Array.new(10) { |k| `/bin/echo #{k}` }
puts Digest::SHA256.hexdigest((1..200_000).to_a.join(','))
exit 4
