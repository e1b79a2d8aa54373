import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** The clock of a process of its own, which can be moved while it runs. */
export interface MovedClock {
  /** What its process must be started with. */
  readonly environment: Readonly<Record<string, string>>
  /** Sets how far it is ahead of the real clock, to the second. */
  set(aheadMs: number): void
  /** What it may show at the earliest, and at the latest: it moves a moment after it is told to. */
  earliestMs(): number
  latestMs(): number
}

/** Removes what libfaketime leaves in memory for each process that it moved. */
export function forgetMovedProcess(pid: number): void {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`])
    rmSync(`/dev/shm/${name}`, { force: true })
}

/** The process looks at its file with each reading of the clock (measured: within 20 ms). */
const SETTLED_MS = 250

/** Makes a clock that libfaketime reads from a file; timers keep to real time. */
export function makeMovedClock(libfaketime: string, file: string): MovedClock {
  let before = 0
  let ahead = 0
  let movedMs = 0
  const write = () => {
    writeFileSync(`${file}.new`, `${ahead < 0 ? '-' : '+'}${Math.abs(ahead) / 1_000}\n`)
    renameSync(`${file}.new`, file)
  }
  const offsets = () => (Date.now() - movedMs < SETTLED_MS ? [before, ahead] : [ahead])
  write()
  return {
    environment: {
      LD_PRELOAD: libfaketime,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set(aheadMs) {
      before = ahead
      ahead = Math.round(aheadMs / 1_000) * 1_000
      movedMs = Date.now()
      write()
    },
    earliestMs: () => Date.now() + Math.min(...offsets()),
    latestMs: () => Date.now() + Math.max(...offsets()),
  }
}
