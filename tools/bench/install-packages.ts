import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const TIMEOUT_MS = 10 * 60_000

/** Installs packages of rivals once below the temporary folder, never as dependencies; gives their folder. */
export async function installPackages(
  name: string,
  packages: readonly string[],
  overrides: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = join(tmpdir(), 'sexton-bench-rivals', name)
  const list = packages.join(' ')
  if ((await readFile(join(folder, 'installed'), 'utf8').catch(() => '')) === list) return folder
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const manifest = { private: true, type: 'module', overrides }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  const config = { cwd: folder, timeout: TIMEOUT_MS }
  await promisify(execFile)('npm', ['install', ...flags, ...packages], config)
  await writeFile(join(folder, 'installed'), list)
  return folder
}
