//! Operations that a surface runs or names in order to answer something else: resources, completions, prompts, advice.
//! They are called through the same door as all others, and named here so that no surface spells a name.

#![allow(missing_docs)]

use crate::operation::{Entry, entry};
use crate::{account, comment, config, entity, exchange, project, prompt, relationship, search};

/// It has no surface of its own: agents see it as the list of resources.
pub const BROWSE: &Entry = &entry::<entity::browse::Browse>();
pub const GET_ACTIVE_PROMPT: &Entry = &entry::<prompt::GetActivePrompt>();
pub const GET_ENTITY: &Entry = &entry::<entity::read::GetEntity>();
pub const GET_HIERARCHY: &Entry = &entry::<entity::hierarchy::GetHierarchy>();
pub const GET_HISTORY: &Entry = &entry::<entity::history::GetHistory>();
pub const GET_PATH: &Entry = &entry::<entity::hierarchy::GetPath>();
pub const GET_PROMPT: &Entry = &entry::<prompt::GetPrompt>();
pub const GET_STATUS_MODEL: &Entry = &entry::<config::status_model::GetStatusModel>();
pub const IMPORT: &Entry = &entry::<exchange::import::ImportFile>();
pub const LIST_COMMENTS: &Entry = &entry::<comment::ListComments>();
pub const LIST_ENTITIES: &Entry = &entry::<entity::read::ListEntities>();
pub const LIST_IMPORTS: &Entry = &entry::<exchange::imports::ListImports>();
pub const LIST_PROJECTS: &Entry = &entry::<project::ListProjects>();
pub const LIST_PROMPTS: &Entry = &entry::<prompt::ListPrompts>();
pub const LIST_RELATIONSHIPS: &Entry = &entry::<relationship::ListRelationships>();
pub const LIST_TYPES: &Entry = &entry::<config::ListTypes>();
pub const SEARCH_REQUIREMENTS: &Entry = &entry::<search::SearchRequirements>();
pub const SEARCH_SUGGESTIONS: &Entry = &entry::<search::suggestions::SearchSuggestions>();
pub const WHO_AM_I: &Entry = &entry::<account::WhoAmI>();
