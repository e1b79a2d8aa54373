import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

/**
 * Sends requests at a fixed rate, whether or not earlier ones are answered, and measures each from the moment
 * it was due: an answer that holds up the next ones counts for all of them.
 */
const { url, perSecond, seconds, connections, secretsFile } = JSON.parse(
  process.argv[2] ?? '{}',
) as {
  readonly url: string
  readonly perSecond: number
  readonly seconds: number
  readonly connections: number
  readonly secretsFile?: string
}

/** Sleeps while nothing is due: the databases may share the core. */
const TIMER_MS = 1
const END_OF_HEAD = '\r\n\r\n'
const { hostname, port, host, pathname, search } = new URL(url)
const requests = readSecrets().map((secret) =>
  Buffer.from(
    `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${secret === undefined ? '' : `Authorization: Bearer ${secret}\r\n`}\r\n`,
  ),
)

const total = Math.round(perSecond * seconds)
const latenciesMs = new Float64Array(total)
const free: Line[] = []
const due: number[] = []
let sent = 0
let answered = 0
let refused = 0

/** One connection with at most one request on its way. */
class Line {
  readonly #socket: Socket
  #text = ''
  #dueMs = 0

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('data', (text: unknown) => this.#read(String(text)))
    socket.on('error', fail)
    socket.on('close', () => fail(new Error('the server closed a connection')))
  }

  send(dueMs: number): void {
    this.#dueMs = dueMs
    this.#socket.write(requests[sent % requests.length] ?? '')
    sent += 1
  }

  #read(text: string): void {
    this.#text += text
    const end = this.#text.indexOf(END_OF_HEAD)
    if (end === -1) return
    const length = Number(/content-length: (\d+)/i.exec(this.#text.slice(0, end))?.[1])
    if (this.#text.length < end + END_OF_HEAD.length + length) return
    if (!this.#text.startsWith('HTTP/1.1 200')) {
      if (refused === 0) process.stderr.write(`${this.#text}\n`)
      refused += 1
    }
    this.#text = ''
    latenciesMs[answered] = performance.now() - this.#dueMs
    answered += 1
    const next = due.shift()
    if (next === undefined) free.push(this)
    else this.send(next)
  }
}

for (let index = 0; index < connections; index += 1) {
  const socket = connect(Number(port), hostname)
  await new Promise((resolve) => socket.once('connect', resolve))
  free.push(new Line(socket))
}
const startMs = performance.now()
tick()

function tick(): void {
  const elapsedSeconds = (performance.now() - startMs) / 1_000
  const arrived = Math.min(total, Math.floor(elapsedSeconds * perSecond) + 1)
  for (let index = sent + due.length; index < arrived; index += 1) {
    const dueMs = startMs + (index / perSecond) * 1_000
    // The one that idled longest: servers close idle ones.
    const line = free.shift()
    if (line === undefined) due.push(dueMs)
    else line.send(dueMs)
  }
  if (answered === total) finish()
  else if ((arrived / perSecond - elapsedSeconds) * 1_000 > TIMER_MS) setTimeout(tick, TIMER_MS)
  else setImmediate(tick)
}

function finish(): void {
  const sorted = latenciesMs.toSorted()
  const at = (share: number) => sorted[Math.min(total - 1, Math.floor(total * share))]
  const figures = { p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999), refused }
  process.stdout.write(`${JSON.stringify(figures)}\n`)
  process.exit(0)
}

function readSecrets(): readonly (string | undefined)[] {
  if (secretsFile === undefined) return [undefined]
  return readFileSync(secretsFile, 'utf8').split('\n').filter(Boolean)
}

function fail(error: Error): void {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
