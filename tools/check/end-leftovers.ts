import { readdir, readFile, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Started by a run of the tests with a pipe to its input. When the pipe closes, which the system does
 * however the run ended, this program ends every process that has the run's mark in its environment,
 * prints what it had to end, and removes the run's folder.
 */
const [, , mark = '', folder = ''] = process.argv

/** Databases are shut down and their files removed meanwhile; then whatever is left is killed. */
const endsWithinMs = 10_000

process.on('SIGINT', () => undefined).on('SIGTERM', () => undefined)
for await (const _ of process.stdin);
await endLeftovers()
await rm(folder, { recursive: true, force: true })

async function endLeftovers(): Promise<void> {
  const asked = new Set<number>()
  for (let waitedMs = 0; ; waitedMs += 100) {
    const left = await markedProcesses()
    if (left.length === 0) return
    for (const { pid, command } of left) {
      if (asked.has(pid)) continue
      asked.add(pid)
      process.stdout.write(`ended a process that the run left behind: ${command}\n`)
      send(pid, 'SIGTERM')
    }
    if (waitedMs > endsWithinMs) for (const { pid } of left) send(pid, 'SIGKILL')
    await sleep(100)
  }
}

interface Marked {
  readonly pid: number
  readonly command: string
}

/** Found by environment, which detached grandchildren inherit too; on Linux only. */
async function markedProcesses(): Promise<readonly Marked[]> {
  const names = await readdir('/proc').catch(() => [])
  const found = await Promise.all(
    names.filter((name) => /^\d+$/.test(name)).map((name) => readMarked(Number(name))),
  )
  return found.flat()
}

async function readMarked(pid: number): Promise<Marked[]> {
  if (pid === process.pid) return []
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')
  if (!(await read('environ')).split('\0').includes(mark)) return []
  const command = (await read('cmdline')).replaceAll('\0', ' ').slice(0, 100)
  return command === '' ? [] : [{ pid, command }]
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself.
  }
}
