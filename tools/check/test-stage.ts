import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { access, chmod, constants, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SHARED_POSTGRES, startPostgres } from '#test/postgres.ts'
import { SHARED_CHAINS } from '#test/start-own-devnet.ts'
import { buildService } from '../build.ts'
import { refreshConsole } from '../build-console.ts'
import { bundlePackages } from './bundle-packages.ts'

const ROOT = join(import.meta.dirname, '../..')
const PRELOADED = pathToFileURL(join(import.meta.dirname, 'short-imports.mjs')).href

/** Marks every process of a run, whatever its group and parent. */
const RUN_MARK = 'TEST_RUN'

/** What the test files of a run share, handed over in the environment. */
export async function openTestStage(needs: {
  readonly postgres: boolean
  /** Some files start what is built; else the page is enough. */
  readonly build: boolean
}) {
  const id = randomUUID()
  const folder = await mkdtemp(join(tmpdir(), 'sexton-test-run-'))
  if (needs.build) await buildService()
  else await refreshConsole()
  const leftovers = watchLeftovers(`${RUN_MARK}=${id}`, folder)
  process.env[RUN_MARK] = id
  process.env[SHARED_CHAINS] = folder
  const cache = await cacheFolder(folder)
  process.env.NODE_COMPILE_CACHE = cache
  process.env.TEST_PACKAGES = await bundlePackages(ROOT, cache)
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import ${PRELOADED}`
  // Whatever a test leaves behind goes with the run. PostgreSQL runs as another user below root.
  process.env.TMPDIR = join(folder, 'tmp')
  await mkdir(process.env.TMPDIR)
  for (const each of [folder, process.env.TMPDIR]) await chmod(each, 0o711)
  const postgres = needs.postgres ? await startPostgres({ own: true }) : undefined
  if (postgres !== undefined) process.env[SHARED_POSTGRES] = postgres.url
  return {
    async close(): Promise<void> {
      await postgres?.stop()
      await leftovers.end()
    },
  }
}

/** Modules compiled and bundled in earlier runs; those of this run alone where the installation is read-only. */
async function cacheFolder(folder: string): Promise<string> {
  const kept = join(ROOT, 'node_modules/.cache/sexton')
  try {
    await mkdir(kept, { recursive: true })
    await access(kept, constants.W_OK)
    return kept
  } catch {
    return join(folder, 'compiled')
  }
}

function watchLeftovers(mark: string, folder: string) {
  const program = join(import.meta.dirname, 'end-leftovers.ts')
  const child = spawn(process.execPath, [program, mark, folder], {
    detached: true,
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  return {
    async end(): Promise<void> {
      const closed = once(child, 'close')
      child.stdin?.end()
      await closed
    },
  }
}
