import { syncBuiltinESMExports } from 'node:module'

/**
 * Time that passes at once whenever nobody works. Timers, pauses, `Date.now` and `performance.now`
 * of this process follow it from `install` on; sockets and stores stay real. Between two timers
 * everything that is under way comes to rest, so that the order of things hardly depends on the
 * machine.
 */
export interface FastTime {
  /** Unix milliseconds. */
  now(): number
  /** Somebody works: time stands still. */
  busy(): void
  idle(): void
  /** Lets time pass. */
  pass(ms: number): Promise<void>
  /** Lets time pass until a promise settles; throws after `limitMs`. */
  until<T>(promise: Promise<T>, limitMs: number): Promise<T>
  /** Turns the wall clock without time passing. */
  turnClock(ms: number): void
  restore(): void
}

interface Timer {
  dueMs: number
  readonly everyMs: number | undefined
  readonly run: () => void
}

/** So many rounds of the event loop without news mean that nothing is under way. */
const QUIET_ROUNDS = 16

/** A round that waits is cheaper than a spinning one, once a database of another process works. */
const SPINS_MAX = 200

/** Work that takes longer than this by the real clock, and so many looks, hangs: a machine may pause. */
const HANGS_MS = 30_000
const HANGS_SPINS = 10_000

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  dateNow: Date.now,
  performanceNow: performance.now.bind(performance),
  abortTimeout: AbortSignal.timeout,
}

/** Puts fast time in the place of real time; `restore` puts the real one back. */
export function installFastTime(startMs: number): FastTime {
  const queue = new TimerQueue()
  let turnedMs = 0
  const now = () => startMs + turnedMs + Math.floor(queue.elapsedMs)

  async function pass(ms: number, isOver = () => false): Promise<void> {
    const untilMs = queue.elapsedMs + ms
    for (await queue.quiet(); !isOver(); await queue.quiet()) if (!queue.runNext(untilMs)) break
    if (!isOver()) queue.elapsedMs = Math.max(queue.elapsedMs, untilMs)
  }

  async function until<T>(promise: Promise<T>, limitMs: number): Promise<T> {
    let settled = false
    const settle = () => {
      settled = true
    }
    promise.then(settle, settle)
    await pass(limitMs, () => settled)
    if (!settled) throw new Error(`what should end did not within ${limitMs} ms`)
    return promise
  }

  const restore = replaceTimers({
    add: (run, ms, repeats) => queue.add(run, ms, repeats),
    remove: (timer) => queue.remove(timer),
    now,
    elapsed: () => queue.elapsedMs,
  })
  return {
    now,
    busy: () => queue.work(1),
    idle: () => queue.work(-1),
    pass: (ms) => pass(ms),
    until,
    turnClock(ms) {
      turnedMs += ms
    },
    restore,
  }
}

/** Timers by the time that has passed, and whether anybody is at work. */
class TimerQueue {
  elapsedMs = 0
  readonly #timers = new Set<Timer>()
  #workers = 0
  #news = 0

  work(workers: 1 | -1): void {
    this.#workers += workers
    this.#news += 1
  }

  add(run: () => void, ms: number, repeats: boolean): Timer {
    const delayMs = Number.isFinite(ms) && ms > 1 ? ms : 1
    const everyMs = repeats ? delayMs : undefined
    const timer: Timer = { dueMs: this.elapsedMs + delayMs, everyMs, run }
    this.#news += 1
    this.#timers.add(timer)
    // A pause of nothing is no time, so it ends even while somebody works. One of a millisecond is:
    // whoever waits for a moment by such pauses would else wait for ever.
    if (!(ms >= 1) && !repeats)
      real.setImmediate(() => {
        if (this.#timers.delete(timer)) run()
      })
    return timer
  }

  remove(timer: Timer): void {
    this.#timers.delete(timer)
  }

  /** Waits until nothing is under way. */
  async quiet(): Promise<void> {
    const startedMs = real.performanceNow()
    for (let rounds = 0, spins = 0; rounds < QUIET_ROUNDS; spins += 1) {
      const before = this.#news
      await new Promise((resolve) =>
        spins < SPINS_MAX ? real.setImmediate(resolve) : real.setTimeout(resolve, 1),
      )
      rounds = this.#workers === 0 && before === this.#news ? rounds + 1 : 0
      if (spins > HANGS_SPINS && real.performanceNow() - startedMs > HANGS_MS)
        throw new Error('somebody never ends working')
    }
  }

  /** Runs the earliest timer that is due by then; those due at once in the order of their making. */
  runNext(untilMs: number): boolean {
    let first: Timer | undefined
    for (const timer of this.#timers)
      if (first === undefined || timer.dueMs < first.dueMs) first = timer
    if (first === undefined || first.dueMs > untilMs) return false
    this.elapsedMs = Math.max(this.elapsedMs, first.dueMs)
    if (first.everyMs === undefined) this.#timers.delete(first)
    else first.dueMs += first.everyMs
    first.run()
    return true
  }
}

interface Timers {
  add(run: () => void, ms: number, repeats: boolean): Timer
  remove(timer: Timer): void
  now(): number
  /** Whatever was done to the clock. */
  elapsed(): number
}

/** What `setTimeout` gives; nothing here keeps the process alive, so `ref` and `unref` do nothing. */
class Handle {
  readonly #timers: Timers
  readonly #start: () => Timer
  #timer: Timer

  constructor(timers: Timers, start: () => Timer) {
    this.#timers = timers
    this.#start = start
    this.#timer = start()
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return false
  }
  refresh(): this {
    this.close()
    this.#timer = this.#start()
    return this
  }
  close(): this {
    this.#timers.remove(this.#timer)
    return this
  }
  [Symbol.dispose](): void {
    this.close()
  }
}

type Callback = (...values: unknown[]) => void

function replaceTimers(timers: Timers): () => void {
  const start =
    (repeats: boolean) =>
    (run: Callback, ms = 0, ...values: unknown[]) =>
      new Handle(timers, () => timers.add(() => run(...values), ms, repeats))
  const stop = (handle: unknown) => {
    if (handle instanceof Handle) handle.close()
    else if (handle !== undefined) real.clearTimeout(handle as NodeJS.Timeout)
  }
  const fake = {
    setTimeout: start(false),
    clearTimeout: stop,
    setInterval: start(true),
    clearInterval: stop,
  }
  const modules = {
    plain: process.getBuiltinModule('node:timers'),
    promises: process.getBuiltinModule('node:timers/promises'),
  }
  const { setTimeout: realPause, setImmediate: realTurn } = modules.promises
  Object.assign(globalThis, fake)
  Object.assign(modules.plain, fake)
  Object.assign(modules.promises, {
    setTimeout: (ms?: number, value?: unknown, options?: { signal?: AbortSignal }) =>
      pause(timers, ms ?? 0, value, options?.signal),
    // Whoever lets others have a turn is at work and not done.
    setImmediate: () => pause(timers, 0, undefined, undefined),
  })
  Object.assign(Date, { now: timers.now })
  Object.assign(performance, { now: timers.elapsed })
  Object.assign(AbortSignal, { timeout: (ms: number) => abortAfter(timers, ms) })
  syncBuiltinESMExports()
  return () => {
    const { setTimeout, clearTimeout, setInterval, clearInterval } = real
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval })
    Object.assign(modules.plain, { setTimeout, clearTimeout, setInterval, clearInterval })
    Object.assign(modules.promises, { setTimeout: realPause, setImmediate: realTurn })
    Object.assign(Date, { now: real.dateNow })
    Object.assign(performance, { now: real.performanceNow })
    Object.assign(AbortSignal, { timeout: real.abortTimeout })
    syncBuiltinESMExports()
  }
}

function pause(
  timers: Timers,
  ms: number,
  value: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      timers.remove(timer)
      reject(new DOMException('The operation was aborted', 'AbortError'))
    }
    const timer = timers.add(
      () => {
        signal?.removeEventListener('abort', abort)
        resolve(value)
      },
      ms,
      false,
    )
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

function abortAfter(timers: Timers, ms: number): AbortSignal {
  const controller = new AbortController()
  timers.add(
    () => controller.abort(new DOMException('The operation timed out', 'TimeoutError')),
    ms,
    false,
  )
  return controller.signal
}
