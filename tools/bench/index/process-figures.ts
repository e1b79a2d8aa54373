import { readdir, readFile } from 'node:fs/promises'

/** Clock ticks in a second of /proc (Linux: USER_HZ is 100 on every architecture in use). */
const TICKS_PER_SECOND = 100

/** The most memory that a process had at once, in megabytes (VmHWM of /proc/<pid>/status). */
export async function peakMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, kilobytes = 'NaN'] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? []
  return Number(kilobytes) / 1024
}

/** Processor seconds of a process with all its threads so far. */
export async function cpuSeconds(pid: number): Promise<number> {
  const [user = Number.NaN, system = Number.NaN] = (await statOf(pid)).slice(11, 13)
  return (user + system) / TICKS_PER_SECOND
}

/** Processor seconds of a process, of its children and of those that have ended. */
export async function familyCpuSeconds(pid: number): Promise<number> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  let ticks = 0
  for (const each of pids) {
    const stat = await statOf(each)
    if (each !== pid && stat[1] !== pid) continue
    ticks += stat.slice(11, 15).reduce((sum, part) => sum + part, 0)
  }
  return ticks / TICKS_PER_SECOND
}

/** The process that started another. */
export async function parentOf(pid: number): Promise<number> {
  return (await statOf(pid))[1] ?? Number.NaN
}

/** Fields of /proc/<pid>/stat from the third on (proc(5)); the second may hold anything. */
async function statOf(pid: number): Promise<readonly number[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}
