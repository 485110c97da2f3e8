// Worker threads that compute, timers, and the thread pool (crypto); prints results and whether timers were late enough.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads')
const crypto = require('crypto')
const zlib = require('zlib')

function work (n) {
  let s = 0
  for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003
  return s
}

function worker (k) {
  return new Promise((resolve, reject) => {
    const w = new Worker(__filename, { workerData: k })
    w.on('message', resolve)
    w.on('error', reject)
  })
}

async function timers () {
  const good = []
  for (const ms of [50, 100, 200]) {
    const start = process.hrtime.bigint()
    await new Promise(resolve => setTimeout(resolve, ms))
    good.push(process.hrtime.bigint() - start >= BigInt(ms - 1) * 1000000n)
  }
  return good
}

function hash (k) {
  return new Promise((resolve, reject) => {
    crypto.pbkdf2('word', 'salt' + k, 100000, 32, 'sha256', (e, key) => e ? reject(e) : resolve(key.toString('hex')))
  })
}

if (isMainThread) {
  Promise.all([worker(1), worker(2), timers(), hash(1), hash(2), hash(3)]).then(all => {
    console.log(JSON.stringify(all))
    console.log(zlib.gzipSync(Buffer.from('x'.repeat(3000000))).length)
    process.exitCode = 7
  })
} else {
  parentPort.postMessage(work(60000000 + workerData))
}
