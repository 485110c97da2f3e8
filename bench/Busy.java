/* Busy.java - makes the recording of bench/peers: a thread that stays in Java code, sampled every
 * millisecond for a number of seconds.
 *
 *   java Busy.java OUT.jfr SECONDS
 *
 * As in busy.c, each method has two call sites, of which the first is much more likely, so that some stacks
 * repeat often and many occur once.  There is one thread, because further threads would wait for a core
 * before they can be sampled. */
import java.nio.file.Path;
import java.time.Duration;
import jdk.jfr.Recording;

public class Busy {
    static final int MAX_DEPTH = 40;
    static volatile boolean stop;
    static volatile long sink;

    static long next(long x) { return x * 6364136223846793005L + 1442695040888963407L; }

    static long spin(long x) {
        for (int i = 0; i < 20000; i++) x = next(x);
        return x;
    }

    static boolean second(long x) { return x >>> 59 == 0; } /* true in 1 of 32 calls */

    static long parse(long x, int depth) {
        x = next(x);
        return depth <= 0 ? spin(x) : second(x) ? store(x, depth - 1) : match(x, depth - 1);
    }

    static long match(long x, int depth) {
        x = next(x);
        return depth <= 0 ? spin(x) : second(x) ? parse(x, depth - 1) : route(x, depth - 1);
    }

    static long route(long x, int depth) {
        x = next(x);
        return depth <= 0 ? spin(x) : second(x) ? match(x, depth - 1) : store(x, depth - 1);
    }

    static long store(long x, int depth) {
        x = next(x);
        return depth <= 0 ? spin(x) : second(x) ? route(x, depth - 1) : parse(x, depth - 1);
    }

    static void work(int seed) {
        long x = seed;
        while (!stop) x = parse(x, 1 + (int) ((x >>> 33) % MAX_DEPTH));
        sink += x;
    }

    public static void main(String[] args) throws Exception {
        Thread worker = new Thread(() -> work(7), "worker");
        worker.setDaemon(true);
        worker.start();
        try (Recording r = new Recording()) {
            r.enable("jdk.ExecutionSample").withPeriod(Duration.ofMillis(1));
            r.start();
            Thread.sleep(1000 * Long.parseLong(args[1]));
            r.dump(Path.of(args[0]));
        } finally {
            stop = true;
        }
    }
}
