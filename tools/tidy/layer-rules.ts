import type { Breach } from './breach.ts'
import { allowedImports, house, layerOf, mayImport, resolveImport } from './house.ts'
import { type Import, isTest, type SourceFile } from './source-file.ts'

/** Breaches of the house's table: unknown layers, imports of a layer that is not listed. */
export function layerBreaches(files: readonly SourceFile[]): Breach[] {
  return files.flatMap((file) => [
    ...unknownLayer(file),
    ...(isTest(file) ? [] : file.imports.flatMap((each) => unlistedImport(file, each))),
  ])
}

/** Datasets know nothing of each other: what they share goes through `main/compose.ts`. */
export function siblingBreaches(files: readonly SourceFile[]): Breach[] {
  return files
    .filter((file) => !isTest(file))
    .flatMap((file) =>
      file.imports.flatMap(({ specifier, line }) => {
        const [own, other] = [datasetOf(file.path), datasetOf(targetOf(file, specifier))]
        if (own === undefined || other === undefined || own === other) return []
        const rule = `datasets never import each other: ${own} imports ${other}`
        const mend = 'hand the function over in src/main/compose.ts'
        return [{ path: file.path, line, rule, mend }]
      }),
    )
}

/** Imports are `#layer/file.ts` across layers and end in the file's real ending. */
export function importFormBreaches(files: readonly SourceFile[]): Breach[] {
  return files.flatMap((file) =>
    file.imports.flatMap(({ specifier, line }) => {
      const target = resolveImport(file.path, specifier)
      if (target === undefined) return []
      const at = { path: file.path, line }
      const breaches: Breach[] = []
      if (!/\.(tsx?|mjs|json|css)$/.test(specifier)) {
        const mend = 'write the whole file name, .ts included'
        breaches.push({ ...at, rule: `'${specifier}' does not end in .ts`, mend })
      }
      const crosses = layerOf(target) !== undefined && layerOf(target) !== layerOf(file.path)
      if (specifier.startsWith('.') && crosses) {
        const mend = `import '#${target.replace(/^src\//, '')}'`
        breaches.push({ ...at, rule: `relative import across layers: '${specifier}'`, mend })
      }
      return breaches
    }),
  )
}

function unknownLayer({ path }: SourceFile): Breach[] {
  const layer = layerOf(path)
  if (layer === undefined || house[layer] !== undefined) return []
  const rule = `${layer} is no layer of the house`
  return [{ path, line: 1, rule, mend: 'move the file, or add its layer to tools/tidy/house.ts' }]
}

function unlistedImport(file: SourceFile, { specifier, line }: Import): Breach[] {
  const [from, to] = [layerOf(file.path), layerOf(targetOf(file, specifier))]
  if (from === undefined || to === undefined || mayImport(from, to)) return []
  const allowed = allowedImports(from)
  const words = allowed.length === 0 ? 'nothing' : [allowed].flat().join(', ')
  const rule = `${from} must not import ${to} ('${specifier}')`
  const mend = `${from} may import ${words}: take the need as a function, or move the code down`
  return [{ path: file.path, line, rule, mend }]
}

function targetOf(file: SourceFile, specifier: string): string {
  return resolveImport(file.path, specifier) ?? ''
}

function datasetOf(path: string): string | undefined {
  return /^src\/chains\/(?:datasets|kinds)\/([^/]+)\//.exec(path)?.[1]
}
