import java.util.*;
import java.util.concurrent.*;

/** Threads that compute, wait with timeouts and run on a schedule; prints results and whether every wait was long enough. */
public class Work {
    static long work(long n) {
        long s = 0;
        for (long i = 0; i < n; i++) s = (s * 31 + i) % 1000003;
        return s;
    }

    interface Wait { void run() throws Exception; }

    static boolean lasted(long ms, Wait w) throws Exception {
        long start = System.nanoTime();
        w.run();
        return System.nanoTime() - start >= ms * 1000000;
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Future<Long>> sums = new ArrayList<>();
        for (int k = 0; k < 4; k++) {
            final long n = 20000000 + k;
            sums.add(pool.submit(() -> work(n)));
        }
        Object lock = new Object();
        List<Boolean> waits = new ArrayList<>();
        waits.add(lasted(200, () -> Thread.sleep(200)));
        waits.add(lasted(200, () -> new LinkedBlockingQueue<Integer>().poll(200, TimeUnit.MILLISECONDS)));
        waits.add(lasted(200, () -> new CountDownLatch(1).await(200, TimeUnit.MILLISECONDS)));
        waits.add(lasted(200, () -> { synchronized (lock) { lock.wait(200); } }));
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
        waits.add(lasted(200, () -> timer.schedule(() -> 1, 200, TimeUnit.MILLISECONDS).get()));
        timer.shutdown();
        for (Future<Long> f : sums) System.out.println(f.get());
        pool.shutdown();
        System.out.println(waits);
        StringBuilder s = new StringBuilder();
        Map<Integer, String> m = new TreeMap<>();
        for (int i = 0; i < 200000; i++) m.put(i * 7919 % 200003, "v" + i);
        for (String v : m.values()) s.append(v);
        System.out.println(s.toString().hashCode());
        System.exit(5);
    }
}
