import { Command, Option } from 'commander'
import { grantsSql, isDatabaseRole } from '#operations/grants/grants-sql.ts'
import { ROLES, type Role, type StoreName } from '#operations/grants/rights.ts'
import { parsed } from './run-upkeep.ts'

interface Options {
  readonly role: Role
  readonly to?: string
  readonly store?: StoreName
}

const GRANTS = `
Connects to nothing: it prints the SQL of this version. Run it in PostgreSQL as the owner of the tables,
once they are migrated, and again after each update. "serve" and "verify" may share a database role: name
it with --to in both. Where register and accounts are two databases, print each with --store.

Examples:
  sexton migrate && sexton grants --role serve | psql "$SEXTON_DATABASE_URL"
  sexton grants --role verify --to sexton_service
`

export function grantsCommand(process: NodeJS.Process): Command {
  return new Command('grants')
    .description('print the SQL that grants a PostgreSQL role what a process needs')
    .addOption(new Option('--role <name>', 'process').choices(ROLES).makeOptionMandatory())
    .option('--to <name>', 'role in the database (default sexton_<role>)', parsed(readName))
    .addOption(new Option('--store <name>', 'one store only').choices(['register', 'accounts']))
    .addHelpText('after', GRANTS)
    .action(({ role, to = `sexton_${role}`, store }: Options) => {
      process.stdout.write(grantsSql({ role, databaseRole: to, store }))
    })
}

function readName(text: string) {
  if (isDatabaseRole(text)) return { ok: true as const, value: text }
  return { ok: false as const, reason: 'letters, digits and _ . - are allowed, at most 63' }
}
