import { join } from 'node:path'
import type { RegisterName } from '#data/datasets.ts'

export type StoreName = 'accounts' | RegisterName

export function storeFile(dataFolder: string, name: StoreName): string {
  return join(dataFolder, `${name}.sqlite`)
}
