import { findChromium } from '#test/chromium.ts'
import { MissingProgram } from '#test/debian-program.ts'
import { findDeployPrograms } from '#test/deploy/programs.ts'
import { findSystemdAnalyze } from '#test/deploy/systemd-analyze.ts'
import { findPostgres } from '#test/postgres.ts'
import { findStrace } from '#test/strace.ts'

/** Something that some test files need, found by the module that they import for it. */
interface Need {
  readonly module: string
  /** Finds or installs it beforehand, so that no test's time limit pays for a download. */
  find(): unknown
}

export const postgresModule = 'test/postgres.ts'

const needs: readonly Need[] = [
  { module: 'devnet/anvil.ts', find: () => undefined },
  { module: postgresModule, find: findPostgres },
  { module: 'test/chromium.ts', find: () => findChromium(process.env) },
  { module: 'test/strace.ts', find: () => findStrace() },
  { module: 'test/deploy/programs.ts', find: findDeployPrograms },
  { module: 'test/deploy/systemd-analyze.ts', find: findSystemdAnalyze },
]

/** Modules of everything that is slow to start or not on every machine. */
export const heavyModules: readonly string[] = needs.map(({ module }) => module)

export interface Missing {
  readonly module: string
  readonly reason: string
}

/** Which of these this machine lacks and this user cannot install; any other failure to find one throws. */
export async function findMissing(modules: readonly string[]): Promise<readonly Missing[]> {
  const missing: Missing[] = []
  for (const { module, find } of needs.filter((need) => modules.includes(need.module)))
    try {
      await find()
    } catch (error) {
      if (!(error instanceof MissingProgram)) throw error
      missing.push({ module, reason: error.message })
    }
  return missing
}
