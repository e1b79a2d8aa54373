import type { Breach } from './breach.ts'
import { mayImport, resolveImport, roomOf, rooms } from './house.ts'
import { type Import, isTest, type SourceFile } from './source-file.ts'

/** Files of no room, and imports of a room that is listed below their own. */
export function layerBreaches(files: readonly SourceFile[]): Breach[] {
  return files.flatMap((file) => [
    ...unknownRoom(file),
    ...(isTest(file) ? [] : file.imports.flatMap((each) => importFromBelow(file, each))),
  ])
}

/** Imports are `#room/file.ts` across rooms and end in the file's real ending. */
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
      const crosses = roomOf(target) !== undefined && roomOf(target) !== roomOf(file.path)
      if (specifier.startsWith('.') && crosses) {
        const mend = `import '#${target.replace(/^src\//, '')}'`
        breaches.push({ ...at, rule: `relative import across rooms: '${specifier}'`, mend })
      }
      return breaches
    }),
  )
}

function unknownRoom({ path }: SourceFile): Breach[] {
  const room = roomOf(path)
  if (room === undefined || rooms.includes(room)) return []
  const rule = `${room} is in no room of the house`
  return [{ path, line: 1, rule, mend: 'move the file, or add its room to tools/tidy/house.ts' }]
}

function importFromBelow(file: SourceFile, { specifier, line }: Import): Breach[] {
  const [from, to] = [roomOf(file.path), roomOf(resolveImport(file.path, specifier) ?? '')]
  if (from === undefined || to === undefined || !rooms.includes(from)) return []
  if (mayImport(from, to)) return []
  const rule = `${from} must not import ${to} ('${specifier}')`
  const mend = `only rooms above ${from} in tools/tidy/house.ts: move the code up, or the caller down`
  return [{ path: file.path, line, rule, mend }]
}
