import { execFile } from 'node:child_process'
import { access, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The two lines of Ponder on npm: 1.0.0 is the older code (0.10), 0.17.7 the newer. */
export const PONDER_LINES = ['1.0.0', '0.17.7'] as const
export type PonderLine = (typeof PONDER_LINES)[number]

/** What Ponder wants beside itself. */
const BESIDE = ['viem@2.57.1', 'hono@4']

const INSTALL_TIMEOUT_MS = 10 * 60_000

/**
 * Some registries lack a helper package of the version that the newer line names. Its last release
 * before has the functions that Ponder imports; it only words range errors.
 */
const OVERRIDES = { '@ponder/utils': '0.2.18' }

const RIVALS = join(import.meta.dirname, 'rivals')

/** Installs a line once below the temporary folder, never as a dependency; gives the app's folder. */
export async function installPonder(line: PonderLine): Promise<string> {
  const folder = join(tmpdir(), 'sexton-bench-rivals', `ponder-${line}`)
  const installed = await access(join(folder, 'installed')).then(
    () => true,
    () => false,
  )
  if (!installed) {
    await npmInstall(folder, line, {}).catch(() => npmInstall(folder, line, OVERRIDES))
    await writeFile(join(folder, 'installed'), '')
  }
  await writeApp(folder)
  return folder
}

async function npmInstall(folder: string, line: PonderLine, overrides: object): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const manifest = { private: true, type: 'module', overrides }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  const packages = [`ponder@${line}`, ...BESIDE]
  await promisify(execFile)('npm', ['install', ...flags, ...packages], {
    cwd: folder,
    timeout: INSTALL_TIMEOUT_MS,
  })
}

async function writeApp(folder: string): Promise<void> {
  const files = {
    'ponder-schema.mjs': 'ponder.schema.ts',
    'ponder-config.mjs': 'ponder.config.ts',
    'ponder-handlers.mjs': 'src/index.ts',
    'ponder-api.mjs': 'src/api/index.ts',
  }
  await mkdir(join(folder, 'src/api'), { recursive: true })
  for (const [from, to] of Object.entries(files)) await cp(join(RIVALS, from), join(folder, to))
}
