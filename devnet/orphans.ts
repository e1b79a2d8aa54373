import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Notes the process of a chain, so that a later run can end it if this one is killed. */
export function notePid(pidFile: string, pid: number): void {
  writeFileSync(pidFile, `${pid}\n`)
}

/** Forgets the noted process. */
export function forgetPid(pidFile: string): void {
  rmSync(pidFile, { force: true })
}

/**
 * Ends the process that a killed run left behind, if there is one, and waits until it is gone.
 * A number that now belongs to another program is left alone: the command line must hold the mark.
 * Says whether one was ended.
 */
export async function endOrphan(pidFile: string, mark: string): Promise<boolean> {
  const pid = notedPid(pidFile)
  forgetPid(pidFile)
  if (pid === undefined || !commandLine(pid).includes(mark)) return false
  process.kill(pid, 'SIGKILL')
  for (let waitedMs = 0; waitedMs < goneWithinMs; waitedMs += 20) {
    if (!commandLine(pid).includes(mark)) return true
    await sleep(20)
  }
  throw new Error(`process ${pid} of an earlier run does not end`)
}

// A killed process is gone as soon as the kernel has freed its memory.
const goneWithinMs = 5000

function notedPid(pidFile: string): number | undefined {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8'))
    return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
  } catch {
    return undefined
  }
}

function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    }
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return ''
  }
}
