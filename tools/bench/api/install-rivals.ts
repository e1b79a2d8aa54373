import { execFile } from 'node:child_process'
import { access, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The limiters that Sexton is compared with, and what they want beside themselves. */
const PACKAGES = [
  '@fastify/rate-limit@11.2.0',
  'ioredis@6.0.0',
  'pg@8.23.1',
  'rate-limiter-flexible@11.4.0',
]

const INSTALL_TIMEOUT_MS = 5 * 60_000

const RIVALS = join(import.meta.dirname, 'rivals')
const MANIFEST = join(import.meta.dirname, '../../../package.json')

/** Installs the rivals once below the temporary folder, never as dependencies; gives their folder. */
export async function installRivals(): Promise<string> {
  const packages = [`fastify@${await fastifyVersion()}`, ...PACKAGES]
  const folder = join(tmpdir(), 'sexton-bench-rivals', 'api')
  const list = packages.join(' ')
  const installed = await readFile(join(folder, 'installed'), 'utf8').catch(() => '')
  if (installed !== list) {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
    const settings = { cwd: folder, timeout: INSTALL_TIMEOUT_MS }
    await promisify(execFile)('npm', ['install', ...flags, ...packages], settings)
    await writeFile(join(folder, 'installed'), list)
  }
  await cp(RIVALS, folder, { recursive: true })
  await access(join(folder, 'answer.mjs'))
  return folder
}

/** All servers run on the Fastify that Sexton runs on. */
async function fastifyVersion(): Promise<string> {
  const manifest: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
    await readFile(MANIFEST, 'utf8'),
  )
  return manifest.dependencies.fastify ?? 'latest'
}
