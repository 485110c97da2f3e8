//! Spans from Rust: the C functions of kiln/span.h and a guard that ends a scope with its block.
//!
//! rustc -O spans.rs -L DIR -l static=kiln-span -C link-args=-Wl,--export-dynamic-symbol=otel_thread_ctx_v1
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int, c_void};

#[repr(C)]
struct Scope {
    saved: [u64; 4],
    base: u64,
}

extern "C" {
    fn kiln_span_enter(scope: *mut Scope, trace_id: *const u8, span_id: *const u8, trace_flags: u8);
    fn kiln_span_exit(scope: *const Scope);
    fn kiln_span_key(name: *const c_char) -> c_int;
    fn kiln_span_attr(key: c_int, value: *const c_char, n: usize) -> bool;
    fn kiln_span_publish(process: *const c_void) -> c_int;
}

/// A scope that ends when it is dropped. It must not move, because exit reads what enter wrote.
fn in_span<T>(trace_id: &[u8; 16], span_id: &[u8; 8], work: impl FnOnce() -> T) -> T {
    struct Guard(MaybeUninit<Scope>);
    impl Drop for Guard {
        fn drop(&mut self) {
            unsafe { kiln_span_exit(self.0.as_ptr()) }
        }
    }
    let mut guard = Guard(MaybeUninit::uninit());
    unsafe { kiln_span_enter(guard.0.as_mut_ptr(), trace_id.as_ptr(), span_id.as_ptr(), 1) };
    work()
}

fn main() {
    assert_eq!(unsafe { kiln_span_publish(std::ptr::null()) }, 0);
    let route = unsafe { kiln_span_key(b"http.route\0".as_ptr().cast()) };
    in_span(b"0123456789abcdef", b"outer-id", || {
        in_span(b"0123456789abcdef", b"inner-id", || {
            let value = "/cart";
            assert!(unsafe { kiln_span_attr(route, value.as_ptr().cast(), value.len()) });
            println!("ready {}", std::process::id());
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).unwrap(); // wait until standard input ends
        });
    });
}
