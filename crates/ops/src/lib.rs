//! Every operation of the product, defined once. [`OPERATIONS`] is the list; REST routes, commands, tools for agents,
//! the OpenAPI file and the manual are derived from it. [`Engine::call`] is the single entry point.

mod account;
mod activity;
mod audit;
mod bulk;
mod caller;
mod comment;
mod config;
mod context;
mod deletion;
mod engine;
mod entity;
mod error;
mod example;
mod exchange;
mod identity;
mod input;
pub mod known;
mod login;
mod member;
mod missing;
mod operation;
mod page;
mod progress;
mod project;
mod prompt;
mod purge;
mod relationship;
mod report;
mod search;
mod secret;
mod session;
mod sign_in_link;
mod since;
mod sink;
mod specification;
mod start;
mod steering;
pub mod thread;
pub mod threat;
mod token;
mod typed;
mod upload;
mod user;
mod versioned;
mod view;
pub mod work;

pub use ::exchange::Members;
pub use caller::{Caller, Credentials, Reach, Request, Scope, authenticate, needed};
pub use context::new_id;
pub use engine::{Call, Engine, Gate, Reply, Running};
pub use error::{Error, ErrorKind, FieldError, Result};
pub use identity::{Issuers, KeySource};
pub use input::shortened;
pub use operation::post;
pub use operation::{
    Answer, Change, Command, Effect, Entry, FileArguments, Method, Operation, Route, SessionChange, Shape,
    Tool,
};
pub use progress::{OnProgress, Progress};
pub use search::plain_snippet;
pub use secret::{SESSION_PREFIX, TOKEN_PREFIX};
pub use sink::Sink;
pub use start::{FIRST_PROMPT, First, first_start, silent_first_start};
pub use typed::{Arguments, choices, may_be};
pub use upload::Upload;

use operation::entry;

/// All operations.
pub const OPERATIONS: &[Entry] = &[
    entry::<entity::epic::CreateEpic>(),
    entry::<entity::epic::UpdateEpic>(),
    entry::<entity::story::CreateUserStory>(),
    entry::<entity::story::UpdateUserStory>(),
    entry::<entity::criteria::CreateAcceptanceCriteria>(),
    entry::<entity::criteria::UpdateAcceptanceCriteria>(),
    entry::<entity::requirement::CreateRequirement>(),
    entry::<entity::requirement::UpdateRequirement>(),
    entry::<entity::read::GetEntity>(),
    entry::<entity::read::ListEntities>(),
    entry::<entity::delete::DeleteEntity>(),
    entry::<entity::delete::RestoreEntity>(),
    entry::<entity::delete::PurgeEntity>(),
    entry::<entity::history::GetHistory>(),
    entry::<entity::compare::CompareVersions>(),
    entry::<entity::hierarchy::GetHierarchy>(),
    entry::<entity::hierarchy::GetPath>(),
    entry::<specification::ReadAsDocument>(),
    entry::<thread::cited::CitedTexts>(),
    entry::<thread::change::JudgeChange>(),
    entry::<steering::CreateSteeringDocument>(),
    entry::<steering::UpdateSteeringDocument>(),
    entry::<steering::LinkSteeringDocument>(),
    entry::<steering::UnlinkSteeringDocument>(),
    entry::<comment::AddComment>(),
    entry::<comment::ListComments>(),
    entry::<comment::GetComment>(),
    entry::<comment::UpdateComment>(),
    entry::<comment::DeleteComment>(),
    entry::<comment::RestoreComment>(),
    entry::<comment::PurgeComment>(),
    entry::<relationship::CreateRelationship>(),
    entry::<relationship::DeleteRelationship>(),
    entry::<relationship::ListRelationships>(),
    entry::<relationship::suspects::ListSuspectLinks>(),
    entry::<relationship::ClearSuspectLink>(),
    entry::<report::status::GetStatusReport>(),
    entry::<report::burn_up::GetBurnUp>(),
    entry::<report::hierarchy::AnalyzeHierarchy>(),
    entry::<report::impact::AnalyzeImpact>(),
    entry::<report::matrix::GetMatrix>(),
    entry::<report::matrix::ExportMatrix>(),
    entry::<thread::get::GetThread>(),
    entry::<thread::stale::ListStaleCitations>(),
    entry::<threat::propose::ProposeThreats>(),
    entry::<threat::decide::DecideThreat>(),
    entry::<threat::list::ListThreats>(),
    entry::<thread::repository::CreateRepository>(),
    entry::<thread::repository::ListRepositories>(),
    entry::<thread::repository::GetRepository>(),
    entry::<thread::repository::UpdateRepository>(),
    entry::<thread::repository::DeleteRepository>(),
    entry::<thread::push_trace::PushTrace>(),
    entry::<thread::push_evidence::PushEvidence>(),
    entry::<thread::manual::AddManualEvidence>(),
    entry::<thread::baseline::PinBaseline>(),
    entry::<thread::baseline::ListBaselines>(),
    entry::<thread::baseline::CompareBaselines>(),
    entry::<thread::baseline::ExportBaseline>(),
    entry::<thread::baseline::DeleteBaseline>(),
    entry::<work::next::NextWork>(),
    entry::<work::list::ListWork>(),
    entry::<work::list::ListOpenWork>(),
    entry::<work::hold::RenewWork>(),
    entry::<work::finish::FinishWork>(),
    entry::<work::hold::ReleaseWork>(),
    entry::<work::hold::BreakWork>(),
    entry::<search::SearchGlobal>(),
    entry::<search::SearchRequirements>(),
    entry::<search::suggestions::SearchSuggestions>(),
    entry::<prompt::CreatePrompt>(),
    entry::<prompt::UpdatePrompt>(),
    entry::<prompt::GetPrompt>(),
    entry::<prompt::ListPrompts>(),
    entry::<prompt::GetActivePrompt>(),
    entry::<prompt::ActivatePrompt>(),
    entry::<prompt::DeletePrompt>(),
    entry::<prompt::RestorePrompt>(),
    entry::<prompt::PurgePrompt>(),
    entry::<config::ListTypes>(),
    entry::<config::requirement_type::ListRequirementTypes>(),
    entry::<config::requirement_type::GetRequirementType>(),
    entry::<config::requirement_type::CreateRequirementType>(),
    entry::<config::requirement_type::UpdateRequirementType>(),
    entry::<config::requirement_type::DeleteRequirementType>(),
    entry::<config::relationship_type::ListRelationshipTypes>(),
    entry::<config::relationship_type::GetRelationshipType>(),
    entry::<config::relationship_type::CreateRelationshipType>(),
    entry::<config::relationship_type::UpdateRelationshipType>(),
    entry::<config::relationship_type::DeleteRelationshipType>(),
    entry::<config::status_model::ListStatusModels>(),
    entry::<config::status_model::GetStatusModel>(),
    entry::<config::status_model::UpdateStatusModel>(),
    entry::<project::CreateProject>(),
    entry::<project::ListProjects>(),
    entry::<project::GetProject>(),
    entry::<project::UpdateProject>(),
    entry::<project::DeleteProject>(),
    entry::<example::LoadExample>(),
    entry::<member::ListProjectMembers>(),
    entry::<member::SetProjectMember>(),
    entry::<member::RemoveProjectMember>(),
    entry::<view::ListViews>(),
    entry::<view::SaveView>(),
    entry::<view::DeleteView>(),
    entry::<user::CreateUser>(),
    entry::<user::ListUsers>(),
    entry::<user::GetUser>(),
    entry::<user::UpdateUser>(),
    entry::<user::DeleteUser>(),
    entry::<user::ListUserDirectory>(),
    entry::<token::CreateToken>(),
    entry::<token::ListTokens>(),
    entry::<token::GetToken>(),
    entry::<token::UpdateToken>(),
    entry::<token::RevokeToken>(),
    entry::<identity::ExchangeIdentity>(),
    entry::<login::Login>(),
    entry::<login::Logout>(),
    entry::<sign_in_link::CreateSignInLink>(),
    entry::<sign_in_link::GetSignInLink>(),
    entry::<sign_in_link::UseSignInLink>(),
    entry::<account::WhoAmI>(),
    entry::<account::ChangePassword>(),
    entry::<session::ListSessions>(),
    entry::<session::RevokeSession>(),
    entry::<session::RevokeOtherSessions>(),
    entry::<activity::ListChanges>(),
    entry::<deletion::ListDeletions>(),
    entry::<audit::ListAudit>(),
    entry::<bulk::Bulk>(),
    entry::<exchange::export::Export>(),
    entry::<exchange::import::ImportFile>(),
    entry::<exchange::imports::ListImports>(),
    entry::<exchange::imports::GetImport>(),
    entry::<exchange::preview::PreviewImport>(),
    entry::<exchange::undo::UndoImport>(),
];

/// The operation with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    OPERATIONS.iter().chain([known::BROWSE]).find(|entry| entry.name == name)
}
