import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Something that goes wrong with the disk of the accounts while it lasts. */
export interface StoreFault {
  readonly name: string
  /** Begins it for processes, and gives what ends it. */
  begin(pids: readonly number[]): Promise<() => Promise<void>>
}

/** Every call of a kind on some files fails with an error number, in processes that run already. */
export function failingCalls(
  strace: string,
  input: {
    readonly calls: readonly string[]
    readonly error: 'ENOSPC' | 'EIO'
    /** Any file where none is named. */
    readonly files: readonly string[]
  },
): StoreFault {
  const { calls, error, files } = input
  return {
    name: `${calls.join(' and ')} fail with ${error}`,
    async begin(pids) {
      const tracer = spawn(
        strace,
        [
          ...['-f', `--trace=${calls.join(',')}`, '-o', '/dev/null'],
          ...files.flatMap((file) => ['-P', file]),
          `--inject=${calls.join(',')}:error=${error}`,
          ...pids.flatMap((pid) => ['-p', String(pid)]),
        ],
        { stdio: ['ignore', 'ignore', 'pipe'] },
      )
      // It ends by itself when the fault ends all that it holds.
      const exited = once(tracer, 'exit')
      const killAtExit = () => void tracer.kill('SIGKILL')
      process.once('exit', killAtExit)
      // It tells of each process that it holds.
      const [words] = await once(tracer.stderr.setEncoding('utf8'), 'data')
      if (!/attached/.test(String(words))) throw new Error(`strace did not attach: ${words}`)
      return async () => {
        process.off('exit', killAtExit)
        tracer.kill('SIGINT')
        await exited
      }
    },
  }
}

/** What is left of a small file system is filled up. */
export function fullDisk(folder: string): StoreFault {
  const filler = join(folder, 'filler')
  return {
    name: 'the disk is full',
    async begin() {
      const file = openSync(filler, 'w')
      for (let bytes = FILLER_BYTES; bytes >= 1; bytes = Math.floor(bytes / 2))
        while (hasRoom(file, bytes));
      closeSync(file)
      if (statfsSync(folder).bavail > 0) throw new Error(`${folder} was not filled`)
      return async () => rmSync(filler)
    },
  }
}

const FILLER_BYTES = 4 * 1_024 * 1_024

function hasRoom(file: number, bytes: number): boolean {
  try {
    writeSync(file, Buffer.alloc(bytes))
    return true
  } catch {
    return false
  }
}

/** A process dies at once and nobody asked it to. */
export const killedProcess: StoreFault = {
  name: 'a process of the database is killed',
  async begin([pid]) {
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
    return async () => undefined
  },
}
