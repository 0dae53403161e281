export { Announcer, type AnnouncerProps } from './announcer.tsx'
export { useReducedMotion } from './browser.ts'
export { CountUp, type CountUpProps } from './count-up.tsx'
export { Countdown, type CountdownProps } from './countdown.tsx'
export { GroupPicker, type GroupPickerProps, groupId } from './group-picker.tsx'
export { Meter, type MeterProps } from './meter.tsx'
export { Picture, type PictureProps } from './picture.tsx'
export { RankingTable, type RankingTableProps, type RankingTableRow } from './ranking-table.tsx'
export {
  MonthTable,
  type MonthTableProps,
  PeriodList,
  type PeriodListProps,
  periodAttributes,
} from './streak-table.tsx'
export { ToastRegion, type ToastRegionProps } from './toast-region.tsx'
export { VisuallyHidden } from './visually-hidden.tsx'
