import type { Breach } from './breach.ts'
import { resolveImport } from './house.ts'
import type { SourceFile } from './source-file.ts'

/** Import circles, type imports included: each is told once, at the import that closes it. */
export function circleBreaches(files: readonly SourceFile[]): Breach[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const finished = new Set<string>()
  const breaches: Breach[] = []
  for (const { path } of files) breaches.push(...walk([path], { byPath, finished }))
  return breaches
}

type Walk = {
  readonly byPath: ReadonlyMap<string, SourceFile>
  readonly finished: Set<string>
}

function walk(trail: readonly string[], state: Walk): Breach[] {
  const path = trail.at(-1) ?? ''
  const file = state.byPath.get(path)
  if (file === undefined || state.finished.has(path)) return []
  const breaches = file.imports.flatMap(({ specifier, line }) => {
    const target = resolveImport(path, specifier)
    if (target === undefined) return []
    const start = trail.indexOf(target)
    if (start === -1) return walk([...trail, target], state)
    const circle = [...trail.slice(start), target].join(' → ')
    const mend = 'move what both need into a file of its own, or hand it over as a function'
    return [{ path, line, rule: `import circle: ${circle}`, mend }]
  })
  state.finished.add(path)
  return breaches
}
