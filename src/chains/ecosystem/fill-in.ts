import type { Problems } from './problem.ts'

export type Environment = Readonly<Record<string, string | undefined>>

const NAME = /\$\{([^}]*)\}/g

/**
 * Replaces `${NAME}` in string values by variables of the environment; reports each that is not
 * set, and names none of the values.
 */
export function fillIn(
  value: unknown,
  environment: Environment,
  problems: Problems,
  field = '',
): unknown {
  if (typeof value === 'string')
    return value.replace(NAME, (whole, name: string) => {
      const found = Object.hasOwn(environment, name) ? environment[name] : undefined
      if (found === undefined || found === '')
        problems.add(
          field || 'file',
          `names the variable ${whole}, which is not set; set ${name}, or write the value`,
        )
      return found ?? whole
    })
  if (Array.isArray(value))
    return value.map((each, index) => fillIn(each, environment, problems, `${field}[${index}]`))
  if (typeof value !== 'object' || value === null) return value
  const inside = (name: string) => (field === '' ? name : `${field}.${name}`)
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      fillIn(each, environment, problems, inside(name)),
    ]),
  )
}
