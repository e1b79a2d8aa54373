import { join } from 'node:path'

/** Where a store on SQLite is. */
export function storeFile(dataFolder: string, name: 'register' | 'accounts'): string {
  return join(dataFolder, `${name}.sqlite`)
}
