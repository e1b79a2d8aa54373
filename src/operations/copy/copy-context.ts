import type { RoleContext } from '#main/role-context.ts'

export type CopyContext = Pick<RoleContext, 'settings' | 'clock' | 'progress'>
