import type { EcosystemFile } from './ecosystem-file.ts'

export type { EcosystemFile } from './ecosystem-file.ts'
export type {
  BurnRow,
  DividendRow,
  EventValue,
  GraveDigRow,
  ModuleEvent,
} from './module-types.ts'

/** Gives an ecosystem file its types: `export default defineEcosystem({ ... })`. */
export function defineEcosystem(file: EcosystemFile): EcosystemFile {
  return file
}
