import type { Service } from 'sexton-client'
export function TryPage(_: { readonly service: Service }) {
  return null
}
