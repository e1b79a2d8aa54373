import { readFile } from 'node:fs/promises'

/** Memory of a process that is in use now, in megabytes (VmRSS of /proc); NaN where it has ended. */
export async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, kilobytes = 'NaN'] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? []
  return Number(kilobytes) / 1024
}
