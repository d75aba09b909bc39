//! Operations that a surface itself calls or names: for resources, completions, prompts, advice.
//! They go through [`Engine::call`](crate::Engine::call) like all others, and are listed here so that no surface spells a name.

#![allow(missing_docs)]

use store::model::Kind;

use crate::operation::{Entry, entry};
use crate::thread;
use crate::threat;
use crate::{
    account, activity, audit, bulk, comment, config, deletion, entity, example, exchange, login, member,
    project, prompt, relationship, report, search, session, sign_in_link, specification, steering, token,
    user, view, work,
};

/// It has no surface of its own: agents see it as the list of resources.
pub const BROWSE: &Entry = &entry::<entity::browse::Browse>();
pub const ADD_COMMENT: &Entry = &entry::<comment::AddComment>();
pub const ADD_MANUAL_EVIDENCE: &Entry = &entry::<thread::manual::AddManualEvidence>();
pub const BREAK_WORK: &Entry = &entry::<work::hold::BreakWork>();
pub const BULK_UPDATE: &Entry = &entry::<bulk::Bulk>();
pub const BURN_UP: &Entry = &entry::<report::burn_up::GetBurnUp>();
pub const CHANGE_PASSWORD: &Entry = &entry::<account::ChangePassword>();
pub const CITED_TEXTS: &Entry = &entry::<thread::cited::CitedTexts>();
pub const CLEAR_SUSPECT_LINK: &Entry = &entry::<relationship::ClearSuspectLink>();
pub const COMPARE_VERSIONS: &Entry = &entry::<entity::compare::CompareVersions>();
pub const COMPARE_BASELINES: &Entry = &entry::<thread::baseline::CompareBaselines>();
pub const CREATE_PROJECT: &Entry = &entry::<project::CreateProject>();
pub const CREATE_RELATIONSHIP: &Entry = &entry::<relationship::CreateRelationship>();
pub const CREATE_REPOSITORY: &Entry = &entry::<thread::repository::CreateRepository>();
pub const CREATE_SIGN_IN_LINK: &Entry = &entry::<sign_in_link::CreateSignInLink>();
pub const CREATE_TOKEN: &Entry = &entry::<token::CreateToken>();
pub const DECIDE_THREAT: &Entry = &entry::<threat::decide::DecideThreat>();
pub const DELETE_BASELINE: &Entry = &entry::<thread::baseline::DeleteBaseline>();
pub const DELETE_COMMENT: &Entry = &entry::<comment::DeleteComment>();
pub const DELETE_ENTITY: &Entry = &entry::<entity::delete::DeleteEntity>();
pub const DELETE_RELATIONSHIP: &Entry = &entry::<relationship::DeleteRelationship>();
pub const DELETE_REPOSITORY: &Entry = &entry::<thread::repository::DeleteRepository>();
pub const DELETE_VIEW: &Entry = &entry::<view::DeleteView>();
pub const EXPORT: &Entry = &entry::<exchange::export::Export>();
pub const EXPORT_BASELINE: &Entry = &entry::<thread::baseline::ExportBaseline>();
pub const EXPORT_MATRIX: &Entry = &entry::<report::matrix::ExportMatrix>();
pub const GET_ACTIVE_PROMPT: &Entry = &entry::<prompt::GetActivePrompt>();
pub const GET_ENTITY: &Entry = &entry::<entity::read::GetEntity>();
pub const GET_HIERARCHY: &Entry = &entry::<entity::hierarchy::GetHierarchy>();
pub const GET_HISTORY: &Entry = &entry::<entity::history::GetHistory>();
pub const GET_MATRIX: &Entry = &entry::<report::matrix::GetMatrix>();
pub const GET_IMPORT: &Entry = &entry::<exchange::imports::GetImport>();
pub const GET_PATH: &Entry = &entry::<entity::hierarchy::GetPath>();
pub const GET_PROJECT: &Entry = &entry::<project::GetProject>();
pub const GET_PROMPT: &Entry = &entry::<prompt::GetPrompt>();
pub const GET_REPOSITORY: &Entry = &entry::<thread::repository::GetRepository>();
pub const GET_SIGN_IN_LINK: &Entry = &entry::<sign_in_link::GetSignInLink>();
pub const GET_STATUS_MODEL: &Entry = &entry::<config::status_model::GetStatusModel>();
pub const GET_THREAD: &Entry = &entry::<thread::get::GetThread>();
pub const HIERARCHY_ANALYSIS: &Entry = &entry::<report::hierarchy::AnalyzeHierarchy>();
pub const IMPACT_ANALYSIS: &Entry = &entry::<report::impact::AnalyzeImpact>();
pub const IMPORT: &Entry = &entry::<exchange::import::ImportFile>();
pub const JUDGE_CHANGE: &Entry = &entry::<thread::change::JudgeChange>();
pub const LIST_BASELINES: &Entry = &entry::<thread::baseline::ListBaselines>();
pub const LIST_CHANGES: &Entry = &entry::<activity::ListChanges>();
pub const LIST_COMMENTS: &Entry = &entry::<comment::ListComments>();
pub const LIST_ENTITIES: &Entry = &entry::<entity::read::ListEntities>();
pub const LIST_IMPORTS: &Entry = &entry::<exchange::imports::ListImports>();
pub const LIST_PROJECTS: &Entry = &entry::<project::ListProjects>();
pub const LIST_PROMPTS: &Entry = &entry::<prompt::ListPrompts>();
pub const LIST_RELATIONSHIPS: &Entry = &entry::<relationship::ListRelationships>();
pub const LIST_REPOSITORIES: &Entry = &entry::<thread::repository::ListRepositories>();
pub const LIST_SESSIONS: &Entry = &entry::<session::ListSessions>();
pub const LIST_STALE_CITATIONS: &Entry = &entry::<thread::stale::ListStaleCitations>();
pub const LIST_SUSPECT_LINKS: &Entry = &entry::<relationship::suspects::ListSuspectLinks>();
pub const LIST_THREATS: &Entry = &entry::<threat::list::ListThreats>();
pub const LIST_TOKENS: &Entry = &entry::<token::ListTokens>();
pub const LIST_TYPES: &Entry = &entry::<config::ListTypes>();
pub const LIST_USER_DIRECTORY: &Entry = &entry::<user::ListUserDirectory>();
pub const FINISH_WORK: &Entry = &entry::<work::finish::FinishWork>();
pub const LIST_OPEN_WORK: &Entry = &entry::<work::list::ListOpenWork>();
pub const LIST_WORK: &Entry = &entry::<work::list::ListWork>();
pub const NEXT_WORK: &Entry = &entry::<work::next::NextWork>();
pub const RELEASE_WORK: &Entry = &entry::<work::hold::ReleaseWork>();
pub const RENEW_WORK: &Entry = &entry::<work::hold::RenewWork>();
pub const LIST_VIEWS: &Entry = &entry::<view::ListViews>();
pub const LOAD_EXAMPLE: &Entry = &entry::<example::LoadExample>();
pub const LOGIN: &Entry = &entry::<login::Login>();
pub const LOGOUT: &Entry = &entry::<login::Logout>();
pub const READ_AS_DOCUMENT: &Entry = &entry::<specification::ReadAsDocument>();
pub const PIN_BASELINE: &Entry = &entry::<thread::baseline::PinBaseline>();
pub const PREVIEW_IMPORT: &Entry = &entry::<exchange::preview::PreviewImport>();
pub const RESTORE_ENTITY: &Entry = &entry::<entity::delete::RestoreEntity>();
pub const REVOKE_OTHER_SESSIONS: &Entry = &entry::<session::RevokeOtherSessions>();
pub const REVOKE_SESSION: &Entry = &entry::<session::RevokeSession>();
pub const REVOKE_TOKEN: &Entry = &entry::<token::RevokeToken>();
pub const SAVE_VIEW: &Entry = &entry::<view::SaveView>();
pub const PROPOSE_THREATS: &Entry = &entry::<threat::propose::ProposeThreats>();
pub const PUSH_EVIDENCE: &Entry = &entry::<thread::push_evidence::PushEvidence>();
pub const PUSH_TRACE: &Entry = &entry::<thread::push_trace::PushTrace>();
pub const SEARCH_GLOBAL: &Entry = &entry::<search::SearchGlobal>();
pub const SEARCH_REQUIREMENTS: &Entry = &entry::<search::SearchRequirements>();
pub const SEARCH_SUGGESTIONS: &Entry = &entry::<search::suggestions::SearchSuggestions>();
pub const STATUS_REPORT: &Entry = &entry::<report::status::GetStatusReport>();
pub const UNDO_IMPORT: &Entry = &entry::<exchange::undo::UndoImport>();
pub const UPDATE_REPOSITORY: &Entry = &entry::<thread::repository::UpdateRepository>();
pub const UPDATE_COMMENT: &Entry = &entry::<comment::UpdateComment>();
pub const USE_SIGN_IN_LINK: &Entry = &entry::<sign_in_link::UseSignInLink>();
pub const ACTIVATE_PROMPT: &Entry = &entry::<prompt::ActivatePrompt>();
pub const CREATE_PROMPT: &Entry = &entry::<prompt::CreatePrompt>();
pub const CREATE_RELATIONSHIP_TYPE: &Entry = &entry::<config::relationship_type::CreateRelationshipType>();
pub const CREATE_REQUIREMENT_TYPE: &Entry = &entry::<config::requirement_type::CreateRequirementType>();
pub const CREATE_USER: &Entry = &entry::<user::CreateUser>();
pub const DELETE_PROJECT: &Entry = &entry::<project::DeleteProject>();
pub const DELETE_PROMPT: &Entry = &entry::<prompt::DeletePrompt>();
pub const DELETE_RELATIONSHIP_TYPE: &Entry = &entry::<config::relationship_type::DeleteRelationshipType>();
pub const DELETE_REQUIREMENT_TYPE: &Entry = &entry::<config::requirement_type::DeleteRequirementType>();
pub const DELETE_USER: &Entry = &entry::<user::DeleteUser>();
pub const GET_USER: &Entry = &entry::<user::GetUser>();
pub const LINK_STEERING_DOCUMENT: &Entry = &entry::<steering::LinkSteeringDocument>();
pub const LIST_AUDIT: &Entry = &entry::<audit::ListAudit>();
pub const LIST_DELETIONS: &Entry = &entry::<deletion::ListDeletions>();
pub const LIST_PROJECT_MEMBERS: &Entry = &entry::<member::ListProjectMembers>();
pub const LIST_STATUS_MODELS: &Entry = &entry::<config::status_model::ListStatusModels>();
pub const LIST_USERS: &Entry = &entry::<user::ListUsers>();
pub const PURGE_COMMENT: &Entry = &entry::<comment::PurgeComment>();
pub const PURGE_ENTITY: &Entry = &entry::<entity::delete::PurgeEntity>();
pub const PURGE_PROMPT: &Entry = &entry::<prompt::PurgePrompt>();
pub const REMOVE_PROJECT_MEMBER: &Entry = &entry::<member::RemoveProjectMember>();
pub const RESTORE_COMMENT: &Entry = &entry::<comment::RestoreComment>();
pub const RESTORE_PROMPT: &Entry = &entry::<prompt::RestorePrompt>();
pub const SET_PROJECT_MEMBER: &Entry = &entry::<member::SetProjectMember>();
pub const UNLINK_STEERING_DOCUMENT: &Entry = &entry::<steering::UnlinkSteeringDocument>();
pub const UPDATE_PROJECT: &Entry = &entry::<project::UpdateProject>();
pub const UPDATE_PROMPT: &Entry = &entry::<prompt::UpdatePrompt>();
pub const UPDATE_RELATIONSHIP_TYPE: &Entry = &entry::<config::relationship_type::UpdateRelationshipType>();
pub const UPDATE_REQUIREMENT_TYPE: &Entry = &entry::<config::requirement_type::UpdateRequirementType>();
pub const UPDATE_STATUS_MODEL: &Entry = &entry::<config::status_model::UpdateStatusModel>();
pub const UPDATE_USER: &Entry = &entry::<user::UpdateUser>();
pub const WHO_AM_I: &Entry = &entry::<account::WhoAmI>();

/// The operations that create and change an entity of a kind, if agents have them.
pub const WRITES: &[(Kind, &Entry, &Entry)] = &[
    (Kind::Epic, &entry::<entity::epic::CreateEpic>(), &entry::<entity::epic::UpdateEpic>()),
    (Kind::UserStory, &entry::<entity::story::CreateUserStory>(), &entry::<entity::story::UpdateUserStory>()),
    (
        Kind::AcceptanceCriteria,
        &entry::<entity::criteria::CreateAcceptanceCriteria>(),
        &entry::<entity::criteria::UpdateAcceptanceCriteria>(),
    ),
    (
        Kind::Requirement,
        &entry::<entity::requirement::CreateRequirement>(),
        &entry::<entity::requirement::UpdateRequirement>(),
    ),
    (
        Kind::SteeringDocument,
        &entry::<steering::CreateSteeringDocument>(),
        &entry::<steering::UpdateSteeringDocument>(),
    ),
];
