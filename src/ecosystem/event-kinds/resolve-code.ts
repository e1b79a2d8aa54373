import { type CodeModule, computed, loadModule, type RowMember } from '../mapping-code.ts'
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
  const decided = decidedBy(entry, module, members)
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
  const member = `${field}.rows`
  let module: CodeModule
  try {
    module = loadModule(path)
  } catch (error) {
    return resolver.problems.add(
      member,
      `cannot be loaded: ${error instanceof Error ? error.message : error}`,
    )
  }
  const { file, rows, keep } = module
  if ((rows === undefined) === (keep === undefined))
    resolver.problems.add(member, `${file} must export either a function "rows" or one "keep"`)
  return module
}

/** `keep` decides no field; `rows` decides all. */
function decidedBy(
  { token }: Mapping,
  module: CodeModule | undefined,
  members: readonly RowMember[],
): readonly RowMember[] {
  if (module !== undefined && module.rows === undefined) return []
  return token === undefined ? members : members.filter(({ name }) => name !== 'token')
}

/** Stands for a field that is missing. */
export function missing({ resolver, field }: MappingContext, name: string): string {
  resolver.problems.add(
    `${field}.${name}`,
    'is missing: name the argument that holds it, or a module that decides it as rows',
  )
  return computed({ name })
}
