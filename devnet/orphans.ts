import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export function notePid(pidFile: string, pid: number): void {
  writeFileSync(pidFile, `${pid}\n`)
}

export function forgetPid(pidFile: string): void {
  rmSync(pidFile, { force: true })
}

/**
 * Kills the node that a killed run left behind and waits for its end. The command line must contain
 * `mark`, because the pid may belong to another program by now. Returns whether one was killed.
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
  throw new Error(`process ${pid} of an earlier run did not end after SIGKILL`)
}

// A killed process ends once the kernel has freed its memory.
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
