import type { Logger } from 'pino'
import type { Clock } from '#base/time.ts'
import type { Config } from '#config.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { loadEcosystem } from '#ecosystem/load-ecosystem.ts'
import { localFilePath } from './local-chains.ts'

export interface CommandContext {
  readonly config: Config
  readonly logger: Logger
  readonly clock: Clock
  /** Receives SIGTERM and SIGINT. */
  readonly process: NodeJS.Process
  readonly progress: ProgressBoard
  /** Prints a result line on standard output. */
  show(line: string): void
  /** Prints a message that is not part of the result on the terminal. */
  say(text: string): void
}

export interface ProgressBoard {
  update(task: string, done: number, total: number, detail?: string): void
  /** Prints without breaking the progress display. */
  print(text: string): void
  finish(): void
}

export type ExitCode = 0 | 1 | 2

/** Throws EcosystemError. */
export async function chosenEcosystem(
  config: Pick<Config, 'ecosystemFile' | 'dataFolder'>,
): Promise<Ecosystem> {
  return loadEcosystem(config.ecosystemFile ?? localFilePath(config.dataFolder))
}
