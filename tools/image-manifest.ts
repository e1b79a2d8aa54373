import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LEFT_AS_THEY_ARE } from './build.ts'

/** Reduces the manifest of an unpacked package to what its bundle imports by name. */
export function imageManifest(manifest: {
  readonly [field: string]: unknown
  readonly dependencies: Readonly<Record<string, string>>
}): Readonly<Record<string, unknown>> {
  const kept = Object.entries(manifest.dependencies).filter(([name]) =>
    LEFT_AS_THEY_ARE.includes(name),
  )
  const { name, version, license, type, imports } = manifest
  return {
    ...{ name, version, license, type, imports },
    private: true,
    dependencies: Object.fromEntries(kept),
  }
}

if (import.meta.main) {
  const file = join(process.argv[2] ?? '', 'package.json')
  const manifest = imageManifest(JSON.parse(await readFile(file, 'utf8')))
  await writeFile(file, `${JSON.stringify(manifest, null, 2)}\n`)
}
