import { useId } from 'preact/hooks'
import { type PersonRole, ROLES } from '../../data/use-session.ts'
import { FieldSet } from '../../design/inputs.tsx'

export function RoleChoice({ value, onChange }: { value: PersonRole; onChange: (role: PersonRole) => void }) {
  const id = useId()
  return (
    <FieldSet legend="Role">
      <div class="people-choices">
        {ROLES.map(({ role, label, hint }) => (
          <label key={role} class="people-choice">
            <input
              type="radio"
              name={id}
              value={role}
              checked={role === value}
              aria-label={label}
              aria-describedby={`${id}-${role}`}
              onChange={() => onChange(role)}
            />
            <span class="people-choice-text">
              <span>{label}</span>
              <span class="field-hint" id={`${id}-${role}`}>
                {hint}
              </span>
            </span>
          </label>
        ))}
      </div>
    </FieldSet>
  )
}
