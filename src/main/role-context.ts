import type { Logger } from 'pino'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { loadEcosystem } from '#ecosystem/load-ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import { localFilePath } from './roles/local-chains.ts'
import type { Settings } from './settings.ts'

/** What every role is given by the command line. */
export interface RoleContext {
  readonly settings: Settings
  readonly logger: Logger
  readonly clock: Clock
  /** For SIGTERM and SIGINT. */
  readonly process: NodeJS.Process
  readonly progress: ProgressBoard
  /** Plain text for the person at the terminal. */
  say(text: string): void
}

/** Shows how far several long tasks are. */
export interface ProgressBoard {
  /** `detail` stands behind the figures, in words. */
  update(task: string, done: number, total: number, detail?: string): void
  /** Writes a line of text beside the board without tearing it. */
  print(text: string): void
  /** Takes the board away; later output stands below it. */
  finish(): void
}

/** What a role ends with: all in order, or not. */
export type ExitCode = 0 | 1

/** The operator's ecosystem, or that of the local chains of the data folder; throws EcosystemError. */
export async function chosenEcosystem(
  settings: Pick<Settings, 'ecosystemFile' | 'dataFolder'>,
): Promise<Ecosystem> {
  return loadEcosystem(settings.ecosystemFile ?? localFilePath(settings.dataFolder))
}
