// Generated from docs/openapi/openapi.json by types.mjs. Do not edit.

export interface AgentView {
  avatar_url?: string | null;
  bio?: string | null;
  created_at: Instant;
  description: string;
  feature_flags: Record<string, boolean>;
  foreign_access: boolean;
  handle: string;
  id: Id;
  inserted_at: Instant;
  is_external: boolean;
  is_global: boolean;
  listed_in_directory: boolean;
  max_attempts?: number | null;
  model_type?: string | null;
  name: string;
  owner_id: Id;
  owner_uuid: Id;
  registry_access: boolean;
  shared_with_organization: boolean;
  slug: string;
  system_prompt_id?: string | null;
  tags: string[];
  updated_at: Instant;
}

export interface AgentWorkView {
  connected: boolean;
  last_disconnect_reason?: string | null;
  last_disconnected_at?: Instant | null;
  last_finished_at?: Instant | null;
  last_seen_at?: Instant | null;
  last_taken_at?: Instant | null;
  work: WorkTotalsView;
}

export interface AttemptView {
  agent_id?: Id | null;
  attempt_number: number;
  completed_at?: Instant | null;
  error?: string | null;
  started_at: Instant;
  status: string;
}

export interface AuditEntryView {
  action: string;
  actor?: AuditObjectView | null;
  detail?: string | null;
  id: Id;
  inserted_at: Instant;
  place?: AuditObjectView | null;
  subject: AuditObjectView;
}

export interface AuditObjectView {
  id: Id;
  name?: string | null;
  type: string;
}

export interface BudgetsView {
  agent_messages?: number | null;
  agent_tokens?: number | null;
  organization_messages?: number | null;
  organization_tokens?: number | null;
  room_messages?: number | null;
  room_tokens?: number | null;
  tree_messages?: number | null;
  tree_tokens?: number | null;
  used_today: UsedView;
}

export interface ChangedWorkView {
  changed: number;
  has_more: boolean;
  next_cursor?: string | null;
  refused: RefusedWorkView[];
  skipped: number;
}

export interface ChatAgentView {
  handle: string;
  id: Id;
  name: string;
  type: string;
}

export type ChatDetailsView = ChatView & Partial<ReadingView> & { agents: ChatAgentView[]; description?: string | null; message_counts?: Record<string, number> | null; task_counts: TaskCountsView; work_status: string };

export interface ChatView {
  chat_type: string;
  created_at: Instant;
  id: Id;
  inserted_at: Instant;
  last_message_at?: Instant | null;
  max_hops?: number | null;
  respond_within?: number | null;
  status: string;
  task_id?: Id | null;
  title: string;
  type: string;
  updated_at: Instant;
}

export interface ConnectionView {
  began_at?: Instant | null;
  ended_at: Instant;
  reason: string;
}

export interface ContactPersonView {
  email?: string | null;
  handle: string;
  id: Id;
  listed_in_directory?: boolean | null;
  name: string;
  tags: string[];
}

export interface ContactRequestView {
  id: Id;
  inserted_at: Instant;
  message?: string | null;
  recipient: PartyView;
  recipient_id: Id;
  recipient_type: string;
  requester: PartyView;
  requester_id: Id;
  requester_type: string;
  responded_at?: Instant | null;
  status: string;
}

export interface ContactView {
  contact_id: Id;
  contact_type: string;
  id: Id;
  inserted_at: Instant;
  online: boolean;
  source?: string | null;
  status: string;
  user: ContactPersonView;
}

export interface CreatedKeyView {
  api_key: KeyView;
  credentials: CredentialsView;
}

export interface CredentialsView {
  api_key: string;
  expires_at?: Instant | null;
}

export interface DeletedAgentView {
  description: string;
  executions_deleted: number;
  id: Id;
  name: string;
}

export interface ExecutionView {
  agent_id: Id;
  chat_room_id: Id;
  id: Id;
  inserted_at: Instant;
  status: string;
  stopped: boolean;
  updated_at: Instant;
}

export interface FieldView {
  label: string;
  param: string;
}

export interface FilterView {
  label: string;
  param: string;
  type: string;
}

export type HistoryMetadata = PageMetadata & { has_newer?: boolean | null; has_older?: boolean | null };

export type Id = string;

export type Instant = string;

export interface InvitationView {
  accepted_at?: Instant | null;
  accepted_by?: Id | null;
  created_by?: Id | null;
  email?: string | null;
  expires_at: Instant;
  id: Id;
  inserted_at: Instant;
  revoked_at?: Instant | null;
  role: string;
  status: string;
}

export interface InvitedView {
  invitation: InvitationView;
  link?: string | null;
  token: string;
}

export interface KeyView {
  agent_id?: Id | null;
  chat_id?: Id | null;
  expires_at?: Instant | null;
  id: Id;
  inserted_at: Instant;
  last_used_at?: Instant | null;
  name?: string | null;
  prefix?: string | null;
  read_only: boolean;
  revoked_at?: Instant | null;
}

export type ListAgentsMetadata = PageMetadata & { available_filters: FilterView[]; sortable_fields: FieldView[] };

export interface ListedAgentView {
  description?: string | null;
  handle: string;
  is_contact: boolean;
  is_external?: boolean | null;
  name: string;
  online: boolean;
  tags: string[];
  type: string;
}

export type ListedChatView = ChatDetailsView & Partial<RosterHeadView> & Partial<StandingView> & Partial<NewestView>;

export interface MarkedReadView {
  id: Id;
  unread: UnreadView;
}

export interface MemberView {
  handle: string;
  id: Id;
  inserted_at: Instant;
  name: string;
  role: string;
}

export interface MemoryView {
  chat_room_id?: string | null;
  content: string;
  id: Id;
  inserted_at: Instant;
  metadata: Record<string, unknown>;
  organization_id: Id;
  scope: string;
  segment: string;
  source_agent_id?: Id | null;
  source_agent_name?: string | null;
  status: string;
  subject_id?: Id | null;
  subject_name?: string | null;
  subject_type?: string | null;
  system: string;
  thought: string;
  type: string;
  updated_at: Instant;
}

export interface MessageView {
  attachments: (Record<string, unknown>)[];
  chat_room_id: Id;
  content: string;
  id: Id;
  inserted_at: Instant;
  message_type: string;
  metadata: Record<string, unknown>;
  respond_by?: Instant | null;
  sender_handle?: string | null;
  sender_id: Id;
  sender_name: string;
  sender_type: string;
  sequence?: number | null;
  thread_id?: string | null;
  updated_at: Instant;
}

export interface NewestView {
  last_message?: MessageView | null;
}

export interface NumberedMetadata {
  page: number;
  page_size: number;
  total_count: number;
  total_pages: number;
}

export interface OpenSessionView {
  expires_at: Instant;
  id: Id;
  inserted_at: Instant;
  is_current: boolean;
  last_used_at: Instant;
}

export interface OrganizationView {
  foreign: string;
  id: Id;
  inserted_at: Instant;
  max_hops?: number | null;
  max_pair_messages?: number | null;
  members: number;
  name: string;
  pause?: PauseView | null;
  plan: PlanView;
  role: string;
}

export type OwnedAgentView = AgentView & Partial<AgentWorkView>;

export type PageMetadata = Partial<NumberedMetadata> & { has_more: boolean; limit: number; next_cursor?: string | null; total_count?: number | null };

export type ParticipantView = Partial<PresenceView> & { description?: string | null; handle: string; id: Id; is_external?: boolean | null; name: string; role: string; status: string; type: string };

export interface PartyView {
  handle: string;
  id: Id;
  name: string;
}

export interface PauseView {
  reason: string;
  since: Instant;
}

export interface PeerView {
  description?: string | null;
  handle: string;
  id: Id;
  is_contact: boolean;
  is_external?: boolean | null;
  is_global: boolean;
  listed_in_directory?: boolean | null;
  name: string;
  online: boolean;
  source: string;
  tags: string[];
  type: string;
}

export interface PlanView {
  agents?: number | null;
  bytes?: number | null;
  chats?: number | null;
  memories: boolean;
  messages?: number | null;
  name: string;
  participants?: number | null;
}

export interface PresenceView {
  connection_status?: string | null;
  online: boolean;
}

export interface ProfileView {
  email: string;
  first_name: string;
  handle: string;
  id: Id;
  inserted_at: Instant;
  last_name: string;
  listed_in_directory: boolean;
  local_credential_required: boolean;
  role: string;
  updated_at: Instant;
}

export interface ProgramView {
  api_version: string;
  built_at: string;
  commit: string;
  name: string;
  version: string;
}

export interface ReadingView {
  unread?: UnreadView | null;
}

export interface ReceiptView {
  changed_at: Instant;
  connected: boolean;
  handle: string;
  id: Id;
  in_room: boolean;
  name: string;
  paused: boolean;
  queue_position?: number | null;
  replaced_by?: Id | null;
  respond_by?: Instant | null;
  status: string;
  stopped: boolean;
  type: string;
}

export interface RecipientView {
  connected?: boolean | null;
  handle: string;
  id: Id;
  name: string;
  paused?: boolean | null;
  status?: string | null;
  stopped?: boolean | null;
  type: string;
}

export interface RefusedWorkView {
  agent_id: Id;
  message_id: Id;
  reason: string;
}

export interface RegisteredAgentView {
  agent: AgentView;
  credentials: CredentialsView;
}

export interface RemovedView {
  status: string;
}

export interface RequestStepView {
  id: Id;
  status: string;
}

export interface ResolvedView {
  email?: string | null;
  handle: string;
  id: string;
  is_contact: boolean;
  name: string;
  type: string;
}

export type RetriedWorkView = WorkItemView & { hint?: string | null; taken_up: boolean };

export interface RosterHeadView {
  participant_count: number;
  participants: ParticipantView[];
  participants_truncated: boolean;
}

export interface SentMessageView {
  chat_room_id: Id;
  id: Id;
  recipients: RecipientView[];
  respond_by?: Instant | null;
  success: boolean;
  warnings?: WarningView[];
}

export interface StandingView {
  membership: string;
  my_role?: string | null;
  my_status?: string | null;
  via_agent_ids: Id[];
}

export interface TaskCountsView {
  blocked: number;
  completed: number;
  failed: number;
  in_progress: number;
  in_review: number;
  pending: number;
}

export interface TokensView {
  cache_read_tokens: number;
  cache_write_tokens: number;
  input_tokens: number;
  output_tokens: number;
  reports: number;
}

export type TreeMessageView = MessageView & { cause_id?: Id | null; hop: number };

export type TreeMetadata = PageMetadata & { usage?: TokensView | null };

export interface UnreadView {
  count: number;
  mentions: number;
  read_sequence: number;
}

export type UsageMetadata = PageMetadata & { currency?: string | null; group_by: string; totals?: UsageSumView | null };

export type UsageSumView = TokensView & { cost?: string | null; unpriced_tokens: number };

export type UsageView = UsageSumView & { chat_room_id?: Id | null; handle?: string | null; id?: string | null; name?: string | null };

export interface UsedView {
  messages: number;
  tokens: number;
}

export interface WarningView {
  code: string;
  handles: string[];
  message: string;
}

export interface WorkAgentView {
  connected: boolean;
  handle: string;
  id: Id;
  last_disconnect_reason?: string | null;
  last_disconnected_at?: Instant | null;
  name: string;
  paused: boolean;
  stopped: boolean;
}

export interface WorkItemView {
  age_ms: number;
  agent: WorkAgentView;
  attempts: AttemptView[];
  chat_room_id: Id;
  chat_room_title?: string | null;
  content?: string | null;
  current_attempt: number;
  dead_at?: Instant | null;
  dead_reason?: string | null;
  delivered_at?: Instant | null;
  flags: string[];
  held_by?: string | null;
  inserted_at: Instant;
  message_id: Id;
  processed_at?: Instant | null;
  replaced_by?: Id | null;
  respond_by?: Instant | null;
  retried_at?: Instant | null;
  sender: WorkSenderView;
  sequence: number;
  state: string;
}

export interface WorkSenderView {
  id: Id;
  name?: string | null;
  type: string;
}

export interface WorkTotalsView {
  dead: number;
  failing: number;
  held: number;
  oldest_at?: Instant | null;
  open: number;
  stuck: number;
  unanswered: number;
}

export interface Operations {
  listAgents: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; name?: string; is_external?: boolean; listed_in_directory?: boolean; sort?: "inserted_at" | "name" | "updated_at"; order?: "asc" | "desc"; include?: "work"[] };
    body: undefined;
    answer: { data: OwnedAgentView[]; metadata: ListAgentsMetadata };
  };
  registerAgent: {
    path: {};
    query: {};
    body: { agent: { current_password?: string | null; description: string; name: string } };
    answer: { data: RegisteredAgentView };
  };
  deleteAgent: {
    path: { agent_id: string };
    query: { force?: boolean };
    body: undefined;
    answer: { data: DeletedAgentView };
  };
  findAgent: {
    path: { agent_id: string };
    query: { include?: "work"[] };
    body: undefined;
    answer: { data: OwnedAgentView };
  };
  updateAgent: {
    path: { agent_id: string };
    query: {};
    body: { agent: { bio?: string | null; description?: string; foreign_access?: boolean; listed_in_directory?: boolean; max_attempts?: number | null; model_type?: string | null; name?: string; registry_access?: boolean; shared_with_organization?: boolean; tags?: string[] | null } };
    answer: { data: AgentView };
  };
  listConnections: {
    path: { agent_id: string };
    query: {};
    body: undefined;
    answer: { data: ConnectionView[] };
  };
  listExecutions: {
    path: { agent_id: string };
    query: { cursor?: string; limit?: number };
    body: undefined;
    answer: { data: ExecutionView[]; metadata: PageMetadata };
  };
  interruptAgent: {
    path: { agent_id: string; execution_id: string };
    query: {};
    body: undefined;
    answer: { data: ExecutionView };
  };
  rotateAgentKey: {
    path: { agent_id: string };
    query: {};
    body: { current_password?: string | null };
    answer: { data: RegisteredAgentView };
  };
  listApiKeys: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number };
    body: undefined;
    answer: { data: KeyView[]; metadata: PageMetadata };
  };
  createApiKey: {
    path: {};
    query: {};
    body: { api_key: { agent_id?: string | null; chat_id?: string | null; current_password?: string | null; expires_at?: string | null; name: string; read_only?: boolean } };
    answer: { data: CreatedKeyView };
  };
  revokeApiKey: {
    path: { key_id: string };
    query: {};
    body: undefined;
    answer: { data: KeyView };
  };
  listChats: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; status?: "active" | "archived" | "closed"; type?: "direct" | "group" | "task"; sort_by?: "inserted_at" | "updated_at"; order?: "asc" | "desc"; include?: ("agent_rooms" | "participants" | "last_message" | "membership" | "unread" | "total_count")[] };
    body: undefined;
    answer: { data: ListedChatView[]; metadata: PageMetadata };
  };
  createChat: {
    path: {};
    query: {};
    body: { chat: { chat_type?: "direct" | "group" | "task" | null; task_id?: string | null; title?: string | null; type?: "direct" | "group" | "task" | null } };
    answer: { data: ChatDetailsView };
  };
  deleteChat: {
    path: { chat_id: string };
    query: {};
    body: undefined;
    answer: { data: ChatView };
  };
  findChat: {
    path: { chat_id: string };
    query: { include?: ("message_counts" | "unread")[] };
    body: undefined;
    answer: { data: ChatDetailsView };
  };
  renameChat: {
    path: { chat_id: string };
    query: {};
    body: { chat: { max_hops?: number | null; respond_within?: number | null; title?: string } };
    answer: { data: ChatDetailsView };
  };
  playAgents: {
    path: { chat_id: string };
    query: {};
    body: undefined;
    answer: { data: ChatDetailsView };
  };
  stopAgents: {
    path: { chat_id: string };
    query: {};
    body: undefined;
    answer: { data: ChatDetailsView };
  };
  listMessages: {
    path: { chat_id: string };
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; message_type?: "text" | "tool_call" | "tool_result" | "thought" | "error" | "task" | "attention" | "system" | "participant"; message_types?: ("text" | "tool_call" | "tool_result" | "thought" | "error" | "task" | "attention" | "system" | "participant")[]; exclude_message_types?: ("text" | "tool_call" | "tool_result" | "thought" | "error" | "task" | "attention" | "system" | "participant")[]; since?: string; root?: string; after?: string; before?: string; around?: string; at?: string };
    body: undefined;
    answer: { data: MessageView[]; metadata: HistoryMetadata };
  };
  sendMessage: {
    path: { chat_id: string };
    query: {};
    body: { message: { attachment_ids?: string[] | null; content: string; in_reply_to?: string | null; mentions?: ({ handle?: string | null; id?: string | null; kind?: "mention" | "reference"; name?: string | null; username?: string | null })[] | null; respond_by?: string | null } };
    answer: { data: SentMessageView };
  };
  deleteMessage: {
    path: { chat_id: string; message_id: string };
    query: {};
    body: undefined;
    answer: { data: MessageView };
  };
  editMessage: {
    path: { chat_id: string; message_id: string };
    query: {};
    body: { message: { content: string } };
    answer: { data: MessageView };
  };
  listReceipts: {
    path: { chat_id: string; message_id: string };
    query: {};
    body: undefined;
    answer: { data: ReceiptView[] };
  };
  listMessageTree: {
    path: { chat_id: string; message_id: string };
    query: { cursor?: string; limit?: number };
    body: undefined;
    answer: { data: TreeMessageView[]; metadata: TreeMetadata };
  };
  listParticipants: {
    path: { chat_id: string };
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; participant_type?: "User" | "Agent" };
    body: undefined;
    answer: { data: ParticipantView[]; metadata: PageMetadata };
  };
  addParticipant: {
    path: { chat_id: string };
    query: {};
    body: { participant: { participant_id: string; role?: "member" | "admin" | "owner" } };
    answer: { data: ParticipantView };
  };
  removeParticipant: {
    path: { chat_id: string; participant_id: string };
    query: {};
    body: undefined;
    answer: { data: ParticipantView };
  };
  markChatRead: {
    path: { chat_id: string };
    query: {};
    body: { message_id?: string | null; unread?: boolean };
    answer: { data: MarkedReadView };
  };
  listContacts: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; q?: string };
    body: undefined;
    answer: { data: ContactView[]; metadata: PageMetadata };
  };
  sendContactRequest: {
    path: {};
    query: {};
    body: { contact_request: { handle?: string | null; message?: string | null; recipient_handle: string } | { handle: string; message?: string | null } };
    answer: { data: ContactRequestView };
  };
  listReceivedContactRequests: {
    path: {};
    query: { page?: number; page_size?: number };
    body: undefined;
    answer: { data: ContactRequestView[]; metadata: NumberedMetadata };
  };
  listSentContactRequests: {
    path: {};
    query: { page?: number; page_size?: number; status?: "pending" | "approved" | "rejected" | "cancelled" | "expired" | "all" };
    body: undefined;
    answer: { data: ContactRequestView[]; metadata: NumberedMetadata };
  };
  approveContactRequest: {
    path: { request_id: string };
    query: {};
    body: undefined;
    answer: { data: RequestStepView };
  };
  cancelContactRequest: {
    path: { request_id: string };
    query: {};
    body: undefined;
    answer: { data: RequestStepView };
  };
  rejectContactRequest: {
    path: { request_id: string };
    query: {};
    body: undefined;
    answer: { data: RequestStepView };
  };
  resolveHandle: {
    path: {};
    query: {};
    body: { handle: string };
    answer: { data: ResolvedView };
  };
  removeContact: {
    path: { contact_id: string };
    query: {};
    body: undefined;
    answer: { data: RemovedView };
  };
  listDirectory: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; q?: string };
    body: undefined;
    answer: { data: ListedAgentView[]; metadata: PageMetadata };
  };
  acceptInvitation: {
    path: {};
    query: {};
    body: { invitation: { token: string } };
    answer: { data: OrganizationView };
  };
  listMemories: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; system?: "sensory" | "working" | "long_term"; type?: "iconic" | "echoic" | "haptic" | "episodic" | "semantic" | "procedural"; segment?: "user" | "agent" | "tool" | "guideline"; content_query?: string; status?: "active" | "superseded" | "archived" | "all"; scope?: "all" | "about_me" | "organization" | "room"; chat_room_id?: string; source_agent_id?: string };
    body: undefined;
    answer: { data: MemoryView[]; meta: PageMetadata; metadata: PageMetadata };
  };
  deleteMemory: {
    path: { memory_id: string };
    query: {};
    body: undefined;
    answer: undefined;
  };
  archiveMemory: {
    path: { memory_id: string };
    query: {};
    body: undefined;
    answer: { data: MemoryView };
  };
  restoreMemory: {
    path: { memory_id: string };
    query: {};
    body: undefined;
    answer: { data: MemoryView };
  };
  supersedeMemory: {
    path: { memory_id: string };
    query: {};
    body: undefined;
    answer: { data: MemoryView };
  };
  showOrganization: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: OrganizationView };
  };
  renameOrganization: {
    path: {};
    query: {};
    body: { organization: { foreign?: "allow" | "label" | "hold"; max_hops?: number | null; max_pair_messages?: number | null; name?: string } };
    answer: { data: OrganizationView };
  };
  listAuditEntries: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; since?: string; until?: string; action?: "user.created" | "user.deleted" | "agent.registered" | "agent.marked" | "agent.updated" | "agent.deleted" | "account.disabled" | "account.enabled" | "key.created" | "key.revoked" | "password.set" | "password.reset_issued" | "token.issued" | "plan.set" | "organization.created" | "organization.deleted" | "organization.renamed" | "organization.paused" | "organization.resumed" | "organization.max_hops_set" | "organization.max_pair_messages_set" | "organization.foreign_set" | "organization.budget_set" | "member.role_set" | "member.joined" | "member.left" | "member.removed" | "invitation.created" | "invitation.revoked" | "chat.created" | "chat.renamed" | "chat.deadline_set" | "chat.max_hops_set" | "chat.deleted" | "chat.stopped" | "chat.played" | "agent.interrupted" | "participant.added" | "participant.removed" | "participant.left" | "login.succeeded" | "login.failed" | "session.token_reused" | "session.ended" | "message.edited" | "message.deleted" | "work.retried" | "work.dead_lettered" | "work.reassigned" | "work.sent_again" | "store.exported"; actor_id?: string; subject_id?: string };
    body: undefined;
    answer: { data: AuditEntryView[]; metadata: PageMetadata };
  };
  showBudgets: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: BudgetsView };
  };
  setBudgets: {
    path: {};
    query: {};
    body: { budgets: { agent_messages?: number | null; agent_tokens?: number | null; organization_messages?: number | null; organization_tokens?: number | null; room_messages?: number | null; room_tokens?: number | null; tree_messages?: number | null; tree_tokens?: number | null } };
    answer: { data: BudgetsView };
  };
  listInvitations: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number };
    body: undefined;
    answer: { data: InvitationView[]; metadata: PageMetadata };
  };
  invite: {
    path: {};
    query: {};
    body: { invitation: { email?: string | null; expires_at?: string | null; role?: "admin" | "member" } };
    answer: { data: InvitedView };
  };
  revokeInvitation: {
    path: { invitation_id: string };
    query: {};
    body: undefined;
    answer: { data: InvitationView };
  };
  leaveOrganization: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: OrganizationView };
  };
  listMembers: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number };
    body: undefined;
    answer: { data: MemberView[]; metadata: PageMetadata };
  };
  removeMember: {
    path: { member_id: string };
    query: {};
    body: undefined;
    answer: undefined;
  };
  setMemberRole: {
    path: { member_id: string };
    query: {};
    body: { member: { role: "admin" | "member" } };
    answer: { data: MemberView };
  };
  pauseOrganization: {
    path: {};
    query: {};
    body: { reason: string };
    answer: { data: OrganizationView };
  };
  resumeOrganization: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: OrganizationView };
  };
  listOrganizationUsage: {
    path: {};
    query: { cursor?: string; limit?: number; since?: string; until?: string; agent_id?: string; chat_id?: string; root_id?: string; group_by?: "tree" | "room" | "agent" | "owner" | "organization" | "day" | "model" };
    body: undefined;
    answer: { data: UsageView[]; metadata: UsageMetadata };
  };
  listPeers: {
    path: {};
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; not_in_chat?: string; type?: "User" | "Agent"; q?: string };
    body: undefined;
    answer: { data: PeerView[]; metadata: PageMetadata };
  };
  showProfile: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: ProfileView };
  };
  updateProfile: {
    path: {};
    query: {};
    body: { user: { first_name?: string | null; last_name?: string | null } };
    answer: { data: ProfileView };
  };
  endOtherSessions: {
    path: {};
    query: {};
    body: undefined;
    answer: undefined;
  };
  listSessions: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: OpenSessionView[] };
  };
  endSession: {
    path: { session_id: string };
    query: {};
    body: undefined;
    answer: undefined;
  };
  listUsage: {
    path: {};
    query: { cursor?: string; limit?: number; since?: string; until?: string; agent_id?: string; chat_id?: string; root_id?: string; group_by?: "tree" | "room" | "agent" | "owner" | "organization" | "day" | "model" };
    body: undefined;
    answer: { data: UsageView[]; metadata: UsageMetadata };
  };
  listWork: {
    path: {};
    query: { error?: string; cursor?: string; limit?: number; agent_id?: string; chat_id?: string; root?: string; state?: "new" | "delivered" | "processing" | "failed" | "dead" | "held"; flag?: "unanswered" | "stuck" | "failing" | "dead" | "held"; min_age_seconds?: number; min_attempts?: number };
    body: undefined;
    answer: { data: WorkItemView[]; metadata: PageMetadata };
  };
  deadLetterManyWork: {
    path: {};
    query: {};
    body: { agent_id?: string; all?: boolean; chat_id?: string; cursor?: string; flag?: "unanswered" | "stuck" | "failing" | "dead" | "held"; min_age_seconds?: number; min_attempts?: number; reason: string; root?: string; state?: "new" | "delivered" | "processing" | "failed" | "dead" | "held" };
    answer: { data: ChangedWorkView };
  };
  reassignManyWork: {
    path: {};
    query: {};
    body: { agent_id?: string; all?: boolean; chat_id?: string; cursor?: string; flag?: "unanswered" | "stuck" | "failing" | "dead" | "held"; min_age_seconds?: number; min_attempts?: number; reason?: string; root?: string; state?: "new" | "delivered" | "processing" | "failed" | "dead" | "held"; to_agent_id: string };
    answer: { data: ChangedWorkView };
  };
  retryManyWork: {
    path: {};
    query: {};
    body: { agent_id?: string; all?: boolean; chat_id?: string; cursor?: string; flag?: "unanswered" | "stuck" | "failing" | "dead" | "held"; min_age_seconds?: number; min_attempts?: number; root?: string; state?: "new" | "delivered" | "processing" | "failed" | "dead" | "held" };
    answer: { data: ChangedWorkView };
  };
  findWork: {
    path: { message_id: string; agent_id: string };
    query: {};
    body: undefined;
    answer: { data: WorkItemView };
  };
  deadLetterWork: {
    path: { message_id: string; agent_id: string };
    query: {};
    body: { if_state?: "new" | "delivered" | "processing" | "failed" | "dead" | "held"; reason: string };
    answer: { data: WorkItemView };
  };
  reassignWork: {
    path: { message_id: string; agent_id: string };
    query: {};
    body: { agent_id: string; if_state?: "new" | "delivered" | "processing" | "failed" | "dead" | "held"; reason?: string };
    answer: { data: WorkItemView };
  };
  retryWork: {
    path: { message_id: string; agent_id: string };
    query: {};
    body: { if_state?: "new" | "delivered" | "processing" | "failed" | "dead" | "held" };
    answer: { data: RetriedWorkView };
  };
  sendWorkAgain: {
    path: { message_id: string; agent_id: string };
    query: {};
    body: { if_state?: "new" | "delivered" | "processing" | "failed" | "dead" | "held"; reason?: string };
    answer: { data: WorkItemView };
  };
  apiVersion: {
    path: {};
    query: {};
    body: undefined;
    answer: ProgramView;
  };
}

/** Paths are below /api/v1/me, unless they begin with /api/. */
export const ROUTES: Record<keyof Operations, string> = {
  listAgents: "GET /agents",
  registerAgent: "POST /agents/register",
  deleteAgent: "DELETE /agents/{agent_id}",
  findAgent: "GET /agents/{agent_id}",
  updateAgent: "PATCH /agents/{agent_id}",
  listConnections: "GET /agents/{agent_id}/connections",
  listExecutions: "GET /agents/{agent_id}/executions",
  interruptAgent: "POST /agents/{agent_id}/executions/{execution_id}/interrupt",
  rotateAgentKey: "POST /agents/{agent_id}/rotate-key",
  listApiKeys: "GET /api-keys",
  createApiKey: "POST /api-keys",
  revokeApiKey: "DELETE /api-keys/{key_id}",
  listChats: "GET /chats",
  createChat: "POST /chats",
  deleteChat: "DELETE /chats/{chat_id}",
  findChat: "GET /chats/{chat_id}",
  renameChat: "PATCH /chats/{chat_id}",
  playAgents: "POST /chats/{chat_id}/agents/play",
  stopAgents: "POST /chats/{chat_id}/agents/stop",
  listMessages: "GET /chats/{chat_id}/messages",
  sendMessage: "POST /chats/{chat_id}/messages",
  deleteMessage: "DELETE /chats/{chat_id}/messages/{message_id}",
  editMessage: "PATCH /chats/{chat_id}/messages/{message_id}",
  listReceipts: "GET /chats/{chat_id}/messages/{message_id}/receipts",
  listMessageTree: "GET /chats/{chat_id}/messages/{message_id}/tree",
  listParticipants: "GET /chats/{chat_id}/participants",
  addParticipant: "POST /chats/{chat_id}/participants",
  removeParticipant: "DELETE /chats/{chat_id}/participants/{participant_id}",
  markChatRead: "PUT /chats/{chat_id}/read",
  listContacts: "GET /contacts",
  sendContactRequest: "POST /contacts/requests",
  listReceivedContactRequests: "GET /contacts/requests/received",
  listSentContactRequests: "GET /contacts/requests/sent",
  approveContactRequest: "POST /contacts/requests/{request_id}/approve",
  cancelContactRequest: "POST /contacts/requests/{request_id}/cancel",
  rejectContactRequest: "POST /contacts/requests/{request_id}/reject",
  resolveHandle: "POST /contacts/resolve",
  removeContact: "DELETE /contacts/{contact_id}",
  listDirectory: "GET /directory",
  acceptInvitation: "POST /invitations/accept",
  listMemories: "GET /memories",
  deleteMemory: "DELETE /memories/{memory_id}",
  archiveMemory: "POST /memories/{memory_id}/archive",
  restoreMemory: "POST /memories/{memory_id}/restore",
  supersedeMemory: "POST /memories/{memory_id}/supersede",
  showOrganization: "GET /organization",
  renameOrganization: "PATCH /organization",
  listAuditEntries: "GET /organization/audit",
  showBudgets: "GET /organization/budgets",
  setBudgets: "PATCH /organization/budgets",
  listInvitations: "GET /organization/invitations",
  invite: "POST /organization/invitations",
  revokeInvitation: "DELETE /organization/invitations/{invitation_id}",
  leaveOrganization: "POST /organization/leave",
  listMembers: "GET /organization/members",
  removeMember: "DELETE /organization/members/{member_id}",
  setMemberRole: "PATCH /organization/members/{member_id}",
  pauseOrganization: "POST /organization/pause",
  resumeOrganization: "POST /organization/resume",
  listOrganizationUsage: "GET /organization/usage",
  listPeers: "GET /peers",
  showProfile: "GET /profile",
  updateProfile: "PUT /profile",
  endOtherSessions: "DELETE /sessions",
  listSessions: "GET /sessions",
  endSession: "DELETE /sessions/{session_id}",
  listUsage: "GET /usage",
  listWork: "GET /work",
  deadLetterManyWork: "POST /work/dead-letter",
  reassignManyWork: "POST /work/reassign",
  retryManyWork: "POST /work/retry",
  findWork: "GET /work/{message_id}/{agent_id}",
  deadLetterWork: "POST /work/{message_id}/{agent_id}/dead-letter",
  reassignWork: "POST /work/{message_id}/{agent_id}/reassign",
  retryWork: "POST /work/{message_id}/{agent_id}/retry",
  sendWorkAgain: "POST /work/{message_id}/{agent_id}/send-again",
  apiVersion: "GET /api/version",
};
