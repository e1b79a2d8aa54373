import { join } from 'node:path'

export function storeFile(dataFolder: string, name: 'register' | 'accounts'): string {
  return join(dataFolder, `${name}.sqlite`)
}
