import { delimiter, join } from 'node:path'
import { isExecutable, MissingProgram } from '../debian-program.ts'

/** Part of systemd, which no test installs. */
export async function findSystemdAnalyze(): Promise<string> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin']
  for (const folder of folders) {
    const path = join(folder, 'systemd-analyze')
    if (await isExecutable(path)) return path
  }
  throw new MissingProgram('The tests of the systemd units need systemd-analyze (systemd)')
}
