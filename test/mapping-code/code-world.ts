import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LocalFile } from '#devnet/local-ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'

/** Writes a module of a mapping to the disk. */
export async function withModule(
  source: string,
  work: (path: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const path = join(folder, 'digs.ts')
  writeFileSync(path, source)
  try {
    await work(path)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

type Dig = NonNullable<EcosystemFile['graveDigs']>[number]

/** The local ecosystem with a module for its grave digs. */
export function digsBy(path: string, more: Partial<Dig> = {}) {
  return (file: LocalFile): EcosystemFile => ({
    ...file,
    graveDigs: file.graveDigs.map(({ digger: _, graveId: __, amount: ___, ...dig }) => ({
      ...dig,
      ...more,
      rows: path,
    })),
  })
}
