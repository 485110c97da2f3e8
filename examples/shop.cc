/* An example program for `kiln run`.  Four clerk threads take orders from a queue, contend for the
 * lock of the stock, price every order and keep its receipt.  A courier thread sleeps most of the
 * time.  Every order is a span.
 *
 *     g++ -g -O2 shop.cc $(pkg-config --cflags --libs kiln-span) -o shop
 *     kiln run ./shop [SECONDS [PACE]]
 *
 * PACE is the number of orders per second.  They arrive in bursts, and the rate has two peaks per
 * minute.  Without PACE, the clerks are always busy.  SIGINT and SIGTERM end the program.
 */
#include <kiln/span.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <pthread.h>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace shop
{
struct order {
    uint8_t trace_id[16];
    std::vector<int> items;
    std::string customer;
};

/* ---- the queue of orders ---- */

class counter
{
  public:
    void put(order o)
    {
        {
            std::lock_guard guard(lock_);
            waiting_.push_back(std::move(o));
        }
        come_.notify_one();
    }
    bool take(order &o)
    {
        std::unique_lock guard(lock_);
        come_.wait(guard, [this] { return closed_ || !waiting_.empty(); });
        if (waiting_.empty()) return false;
        o = std::move(waiting_.front());
        waiting_.pop_front();
        return true;
    }
    void close()
    {
        std::lock_guard guard(lock_);
        closed_ = true;
        come_.notify_all();
    }
    size_t length()
    {
        std::lock_guard guard(lock_);
        return waiting_.size();
    }

  private:
    std::mutex lock_;
    std::condition_variable come_;
    std::deque<order> waiting_;
    bool closed_ = false;
};

/* ---- the stock: one lock, held while it is counted ---- */

class stock
{
  public:
    stock() : shelf_(20000)
    {
        for (size_t i = 0; i < shelf_.size(); i++) shelf_[i] = int(i % 37) + 5;
    }
    bool reserve(const order &o)
    {
        std::lock_guard guard(lock_);
        for (int item : o.items)
            if (--shelf_[size_t(item)] < 0) restock(item);
        return total() > 0;
    }

  private:
    void restock(int item) { shelf_[size_t(item)] += 40; }
    long total() const
    {
        long n = 0;
        for (int k : shelf_) n += k;
        return n;
    }
    std::mutex lock_;
    std::vector<int> shelf_;
};

/* ---- prices: CPU time, most of it in inlined functions ---- */

struct rule {
    double weight, from, to;
    bool applies(double x) const { return x >= from && x < to; }
    double worth(double x) const { return weight * std::sqrt(x + from); }
};

class pricing
{
  public:
    pricing()
    {
        std::mt19937 chance(7);
        std::uniform_real_distribution<double> any(0, 100);
        for (int i = 0; i < 300; i++) {
            double from = any(chance);
            rules_.push_back({any(chance) / 1000, from, from + 30});
        }
    }
    double discount(double x) const
    {
        double sum = 0;
        for (const rule &r : rules_)
            if (r.applies(x)) sum += r.worth(x);
        return sum;
    }
    double price(const order &o) const
    {
        double sum = 0;
        for (int item : o.items) sum += 100 - std::fmod(discount(item % 100), 10);
        return sum;
    }

  private:
    std::vector<rule> rules_;
};

/* ---- receipts: strings and maps, kept for a while ---- */

class archive
{
  public:
    void keep(const order &o, double price)
    {
        std::string text = print(o, price);
        std::lock_guard guard(lock_);
        auto &all = receipts_[o.customer];
        all.push_back(std::move(text));
        if (all.size() > 200) all.erase(all.begin(), all.begin() + 100);
    }

  private:
    static std::string print(const order &o, double price)
    {
        std::vector<int> sorted = o.items;
        std::sort(sorted.begin(), sorted.end());
        std::string text = "receipt for " + o.customer + ":";
        for (int item : sorted) text += " #" + std::to_string(item);
        return text + " = " + std::to_string(price);
    }
    std::mutex lock_;
    std::map<std::string, std::vector<std::string>> receipts_;
};

/* ---- threads ---- */

struct everything {
    counter orders;
    stock goods;
    pricing prices;
    archive receipts;
    std::atomic<long> served{0};
    int route = kiln_span_key("shop.customer");
};

void name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

void serve(everything &all, const order &o, uint64_t n)
{
    uint8_t span_id[8];
    std::memcpy(span_id, &n, sizeof n);
    kiln::span working(o.trace_id, span_id);
    kiln_span_attr(all.route, o.customer.data(), o.customer.size());
    if (!all.goods.reserve(o)) return;
    all.receipts.keep(o, all.prices.price(o));
    all.served++;
}

void clerk(everything &all, int number)
{
    name_thread(("clerk-" + std::to_string(number)).c_str());
    uint64_t n = uint64_t(number) << 32;
    for (order o; all.orders.take(o);) serve(all, o, ++n);
}

void courier(const std::atomic<bool> &open)
{
    name_thread("courier");
    while (open) std::this_thread::sleep_for(20ms);
}

volatile std::sig_atomic_t closing;

/* Returns the seconds until the next burst of 200 orders.  The rate varies by a factor of nine. */
double bus_after(double pace, double now) { return 200 / (pace * (1 + 0.8 * std::sin(now * 0.209))); }

/* Adds orders until the end, unless too many are waiting. */
void customers(everything &all, std::chrono::duration<double> time, double pace)
{
    using clock = std::chrono::steady_clock;
    std::mt19937_64 chance(11);
    auto begin = clock::now(), bus = begin;
    for (long n = 0; clock::now() < begin + time && !closing;) {
        if (all.orders.length() > 64) {
            std::this_thread::sleep_for(1ms);
            continue;
        }
        if (pace > 0 && n++ % 200 == 0) {
            std::chrono::duration<double> now = bus - begin, wait(bus_after(pace, now.count()));
            bus += std::chrono::duration_cast<clock::duration>(wait);
            std::this_thread::sleep_until(bus);
        }
        order o;
        for (size_t i = 0; i < sizeof o.trace_id; i++) o.trace_id[i] = uint8_t(chance());
        for (int i = 0; i < 24; i++) o.items.push_back(int(chance() % 20000));
        o.customer = "customer-" + std::to_string(chance() % 50);
        all.orders.put(std::move(o));
    }
}
} // namespace shop

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 3;
    double pace = argc > 2 ? std::strtod(argv[2], nullptr) : 0;
    auto close = [](int) { shop::closing = 1; };
    std::signal(SIGINT, close);
    std::signal(SIGTERM, close);
    kiln_span_process self = {};
    self.size = sizeof self;
    self.service_name = "shop";
    kiln_span_publish(&self);

    shop::everything all;
    std::atomic<bool> open{true};
    std::vector<std::thread> people;
    people.emplace_back(shop::courier, std::cref(open));
    for (int i = 1; i <= 4; i++) people.emplace_back(shop::clerk, std::ref(all), i);
    shop::customers(all, std::chrono::duration<double>(seconds), pace);
    all.orders.close();
    open = false;
    for (auto &t : people) t.join();
    std::printf("served %ld orders\n", all.served.load());
}
