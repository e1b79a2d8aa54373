import { computed, type RowMember } from '../mapping-code/mapping-code.ts'
import { type CodeModule, ModuleError, readModule } from '../mapping-code/read-module.ts'
import type { MappingContext } from './event-kind.ts'

interface Mapping {
  readonly token?: string
  readonly rows?: string
}

interface Coded {
  /** Absent without `rows`, or after a problem. */
  readonly module?: CodeModule
  /** What the module decides. */
  readonly decided: readonly RowMember[]
}

/**
 * Reads the module that the mapping names as `rows`. Fields that it decides become arguments, which
 * its rows have.
 */
export function readByCode<Entry extends Mapping>(
  context: MappingContext,
  entry: Entry,
  members: readonly RowMember[],
): Entry & Coded {
  if (entry.rows === undefined) return { ...entry, decided: [] }
  const module = load(context, entry.rows)
  const decided = decidedBy(context, entry, { module, members })
  const named = decided.map((member) => {
    if (entry[member.field as keyof Entry] !== undefined)
      context.resolver.problems.add(
        `${context.field}.${member.field}`,
        `is decided by ${module?.file}; remove it here, or there`,
      )
    return [member.field, computed(member)]
  })
  return { ...entry, ...Object.fromEntries(named), decided, ...(module && { module }) }
}

function load({ resolver, field }: MappingContext, path: string): CodeModule | undefined {
  try {
    return readModule(path)
  } catch (error) {
    if (error instanceof ModuleError) return resolver.problems.add(`${field}.rows`, error.message)
    throw error
  }
}

/** `rows` decides everything, other functions what they are named after. */
function decidedBy(
  { resolver, field }: MappingContext,
  { token }: Mapping,
  {
    module,
    members,
  }: { readonly module: CodeModule | undefined; readonly members: readonly RowMember[] },
): readonly RowMember[] {
  if (module === undefined) return members
  const { file, functions } = module
  const possible = token === undefined ? members : members.filter(({ name }) => name !== 'token')
  const alone = ['keep', ...possible.map(({ name }) => name)]
  const wanted = functions.includes('rows') ? ['rows'] : alone
  const unknown = functions.filter((name) => !wanted.includes(name))
  if (unknown.length > 0 || functions.length === 0)
    resolver.problems.add(
      `${field}.rows`,
      `${file} exports ${unknown.join(', ') || 'nothing'}; it can export "rows", or any of ${alone.join(', ')}`,
    )
  return functions.includes('rows')
    ? possible
    : possible.filter(({ name }) => functions.includes(name))
}

/** Stands for a field that is missing. */
export function missing({ resolver, field }: MappingContext, name: string): string {
  resolver.problems.add(
    `${field}.${name}`,
    'is missing: name the argument that holds it, or a module that decides it as rows',
  )
  return computed({ name })
}
