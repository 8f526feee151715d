import { CORE_SCHEMA, mergeTag } from 'js-yaml';

/** YAML 1.2, and `<<`, which everybody expects. */
export const YAML_SCHEMA = CORE_SCHEMA.withTags(mergeTag);

/** Of lists and mappings in each other. */
export const MAX_DEPTH = 100;
