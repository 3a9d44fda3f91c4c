// Generated from docs/openapi/openapi.json by types.mjs. Do not edit.

export interface AccountView {
  disabled_at?: Instant | null;
  email: string;
  handle: string;
  id: Id;
  inserted_at: Instant;
  name: string;
  organization_id: Id;
  organization_role: string;
  role: string;
}

export interface ActorView {
  handle: string;
  id: Id;
  name: string;
  type: string;
}

export type AgentOverviewView = AgentWorkView & { disabled_at?: Instant | null; handle: string; id: Id; inserted_at: Instant; is_external: boolean; name: string; owner_id: Id };

export interface AgentPauseView {
  reason?: string | null;
  since: Instant;
}

export interface AgentView {
  a2a: boolean;
  avatar_url?: string | null;
  bio?: string | null;
  claims: string;
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
  pause?: AgentPauseView | null;
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

export interface AnsweredByView {
  handle: string;
  id: Id;
  name: string;
}

export interface AskerView {
  handle?: string | null;
  id: Id;
  name: string;
  type: string;
}

export interface AssignmentView {
  active_form: string;
  assignee: ActorView;
  linked_native_id: string;
  status: string;
  updated_at: Instant;
}

export interface AttachmentView {
  bytes: number;
  content_type: string;
  expires_at?: Instant | null;
  has_thumb: boolean;
  id: Id;
  name: string;
  sha256: string;
}

export interface AttemptView {
  agent_id?: Id | null;
  attempt_number: number;
  completed_at?: Instant | null;
  error?: string | null;
  started_at: Instant;
  status: string;
}

export interface AttentionChatView {
  id: Id;
  title?: string | null;
}

export interface AttentionView {
  answer_id?: Id | null;
  answered_at?: Instant | null;
  answered_by?: AnsweredByView | null;
  answers: string[];
  asker?: AskerView | null;
  blocking: boolean;
  chat?: AttentionChatView | null;
  contact_request_id?: Id | null;
  default?: string | null;
  expires_at?: Instant | null;
  id: string;
  inserted_at: Instant;
  kind: string;
  message_id?: Id | null;
  outcome?: string | null;
  state: string;
  summary: string;
  work?: AttentionWorkView | null;
}

export interface AttentionWorkView {
  agent_id: Id;
  count: number;
  flags: string[];
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

export interface BoardEntryView {
  actor: ActorView;
  at: Instant;
  event: string;
  payload: Record<string, unknown>;
}

export type BoardView = Partial<HistoryView> & { chat_room_id: Id; created_by?: ActorView | null; goal_summary?: string | null; goal_title?: string | null; inserted_at?: Instant | null; updated_at?: Instant | null; updated_by?: ActorView | null };

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

export interface BulkDeletionView {
  completed_at?: Instant | null;
  failed: number;
  force: boolean;
  id: Id;
  inserted_at: Instant;
  processed: number;
  resource_type: string;
  results: ResultView[];
  started_at?: Instant | null;
  status: string;
  succeeded: number;
  total: number;
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

export type ChatDetailsView = ChatView & { agents: ChatAgentView[]; description?: string | null; message_counts?: Record<string, number> | null; task_counts: TaskCountsView; work_status: string };

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

export interface ClusterView {
  connected_agents: number;
  connected_users: number;
  nodes: number;
}

export interface ConnectionView {
  began_at?: Instant | null;
  ended_at: Instant;
  reason: string;
}

export type ConnectionsMetadata = PageMetadata & { node_id?: Id | null };

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

export type DisconnectView = ConnectionView & { agent_id: Id; handle?: string | null; name?: string | null };

export interface DoorFailureView {
  code: string;
  detail?: string | null;
}

export interface DoorView {
  called_at?: Instant | null;
  door: string;
  failed_at?: Instant | null;
  failure?: DoorFailureView | null;
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

export interface FindingView {
  check: string;
  found: string;
  next?: string | null;
  outcome: string;
}

export interface HighlightView {
  end: number;
  start: number;
}

export type HistoryMetadata = PageMetadata & { has_newer?: boolean | null; has_older?: boolean | null };

export interface HistoryView {
  history: BoardEntryView[];
  history_truncated: boolean;
}

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

export interface ItemErrorView {
  code: string;
  message: string;
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
  id: Id;
  is_contact: boolean;
  is_external?: boolean | null;
  name: string;
  online: boolean;
  tags: string[];
  type: string;
}

export type ListedChatView = ChatDetailsView & Partial<RosterHeadView> & Partial<StandingView> & Partial<NewestView> & Partial<ReadingView>;

export interface MarkedReadView {
  id: Id;
  unread: UnreadView;
}

export interface MarkedRoomsView {
  has_more: boolean;
  rooms: MarkedReadView[];
}

export interface MemberView {
  handle: string;
  id: Id;
  inserted_at: Instant;
  joined_at: Instant;
  name: string;
  role: string;
}

export interface MemoryView {
  chat_room_id?: string | null;
  chat_room_status?: string | null;
  chat_room_title?: string | null;
  chat_room_type?: string | null;
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
  attachments: AttachmentView[];
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

export type NewNotificationChannelView = NotificationChannelView & { secret?: string | null };

export interface NewSecondFactorView {
  otpauth_url: string;
  secret: string;
}

export interface NewestView {
  last_message?: MessageView | null;
}

export interface NodeView {
  alive: boolean;
  entered_at: Instant;
  id: Id;
  lease_until: Instant;
}

export interface NotificationChannelView {
  content: string;
  digest_minutes: number;
  failing_since?: Instant | null;
  id: Id;
  inserted_at: Instant;
  kind: string;
  last_error?: string | null;
  links: boolean;
  off_at?: Instant | null;
  off_note?: string | null;
  off_reason?: string | null;
  quiet_hours?: string | null;
  status: string;
  updated_at: Instant;
  url?: string | null;
}

export interface NotificationView {
  attempts: number;
  channel_id: Id;
  chat_room_id?: Id | null;
  due_at: Instant;
  ended_at?: Instant | null;
  id: Id;
  inserted_at: Instant;
  kind: string;
  last_attempt_at?: Instant | null;
  last_error?: string | null;
  last_status?: number | null;
  message_id?: Id | null;
  status: string;
}

export interface NumberedMetadata {
  page: number;
  page_size: number;
  total_count: number;
  total_pages: number;
}

export interface OpenConnectionView {
  began_at: Instant;
  handle?: string | null;
  id: Id;
  name?: string | null;
  queued_bytes: number;
  type: string;
}

export interface OpenSessionView {
  expires_at: Instant;
  id: Id;
  inserted_at: Instant;
  is_current: boolean;
  last_used_at: Instant;
}

export interface OrganizationInUseView {
  id: Id;
  members: number;
  name: string;
  pause?: PauseView | null;
  plan: PlanView;
  used: OrganizationUseView;
}

export interface OrganizationUseView {
  agents: number;
  bytes: number;
  chats: number;
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
  used?: QuotaUseView | null;
}

export interface OriginView {
  foreign: boolean;
  originator_type: string;
}

export interface OverviewView {
  cluster?: ClusterView | null;
  commit: string;
  disk_short: boolean;
  findings: FindingView[];
  nats_connected?: boolean | null;
  node_id?: Id | null;
  nodes: NodeView[];
  sockets: SocketsView;
  store: StoreView;
  totals: TotalsView;
  uptime_seconds: number;
  version: string;
  work: WorkTotalsView;
}

export type OwnedAgentView = AgentView & Partial<AgentWorkView> & { doors?: DoorView[] | null };

export type PageMetadata = Partial<NumberedMetadata> & { has_more: boolean; limit: number; next_cursor?: string | null; total_count?: number | null };

export type ParticipantView = Partial<PresenceView> & { description?: string | null; handle: string; id: Id; is_external?: boolean | null; joined_at: Instant; name: string; role: string; status: string; type: string };

export interface PartyView {
  handle: string;
  id: Id;
  name: string;
}

export interface PasskeyChallengeView {
  ceremony: string;
  options: Record<string, unknown>;
}

export interface PasskeyView {
  id: Id;
  inserted_at: Instant;
  is_synced: boolean;
  last_used_at?: Instant | null;
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

export type PlanInUseView = PlanView & { organizations: number };

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

export interface QuotaUseView {
  agents: number;
  bytes: number;
  chats: number;
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

export interface RecoveryCodesView {
  recovery_codes: string[];
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

export interface ReminderMentionView {
  handle: string;
  id: Id;
  kind: string;
  name: string;
  type: string;
}

export interface ReminderReasonView {
  at: Instant;
  code: string;
  message: string;
}

export interface ReminderView {
  cancelled_by?: Id | null;
  chat_id: Id;
  content: string;
  deliver_at?: Instant | null;
  end?: ReminderReasonView | null;
  every?: string | null;
  first_at: Instant;
  id: Id;
  inserted_at: Instant;
  last_failure?: ReminderReasonView | null;
  last_message_id?: Id | null;
  last_sent_at?: Instant | null;
  mentions: ReminderMentionView[];
  sender_handle: string;
  sender_id: Id;
  sender_type: string;
  sent_count: number;
  state: string;
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

export interface ResultView {
  error?: ItemErrorView | null;
  id: string;
  status: string;
}

export type RetriedWorkView = WorkItemView & { hint?: string | null; taken_up: boolean };

export interface RosterHeadView {
  participant_count: number;
  participants: ParticipantView[];
  participants_truncated: boolean;
}

export interface SearchHitView {
  chat: SearchedChatView;
  highlights: HighlightView[];
  inserted_at: Instant;
  message_id: Id;
  message_type: string;
  origin?: OriginView | null;
  sender: SearchedSenderView;
  snippet: string;
}

export interface SearchedChatView {
  id: Id;
  title?: string | null;
}

export interface SearchedSenderView {
  handle?: string | null;
  id: Id;
  name: string;
  type: string;
}

export interface SecondFactorView {
  enabled_at?: Instant | null;
  recovery_codes_left: number;
  status: string;
}

export type SecretWebhookView = WebhookView & { secret?: string | null };

export interface SentMessageView {
  chat_room_id: Id;
  id: Id;
  recipients: RecipientView[];
  respond_by?: Instant | null;
  success: boolean;
  warnings?: WarningView[];
}

export interface SocketsView {
  agents: number;
  users: number;
}

export interface StandingView {
  membership: string;
  my_role?: string | null;
  my_status?: string | null;
  via_agent_ids: Id[];
}

export interface StoreView {
  kind: string;
  size_bytes: number;
}

export interface TaskCountsView {
  blocked: number;
  completed: number;
  failed: number;
  in_progress: number;
  in_review: number;
  pending: number;
}

export type TaskView = Partial<HistoryView> & { assignments: AssignmentView[]; chat_room_id: Id; completed_at?: Instant | null; created_by: ActorView; detail: string; id: Id; inserted_at: Instant; number: number; overall_status: string; started_at?: Instant | null; state: string; subject: string; superseded_by_id?: Id | null; updated_at: Instant };

export interface ThroughputView {
  node_id?: Id | null;
  series: Record<string, number[]>;
  step_seconds: number;
  until?: Instant | null;
}

export interface TokensView {
  cache_read_tokens: number;
  cache_write_tokens: number;
  input_tokens: number;
  output_tokens: number;
  reports: number;
}

export interface TotalsView {
  agents: number;
  chats: number;
  messages: number;
  organizations: number;
  paused_organizations: number;
  users: number;
}

export type TreeMessageView = MessageView & { cause_id?: Id | null; hop: number };

export type TreeMetadata = PageMetadata & { usage?: TokensView | null };

export interface UnreadView {
  count: number;
  mentions: number;
  muted: boolean;
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

export interface WebPushKeyView {
  public_key: string;
}

export interface WebhookDeliveryView {
  attempts: number;
  chat_room_id: Id;
  ended_at?: Instant | null;
  id: Id;
  inserted_at: Instant;
  last_attempt_at?: Instant | null;
  last_error?: string | null;
  last_status?: number | null;
  message_id: Id;
  next_attempt_at?: Instant | null;
  status: string;
}

export interface WebhookView {
  disabled_at?: Instant | null;
  disabled_reason?: string | null;
  failing_since?: Instant | null;
  inserted_at: Instant;
  previous_secret_valid_until?: Instant | null;
  status: string;
  updated_at: Instant;
  url: string;
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
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; name?: string; is_external?: boolean; listed_in_directory?: boolean; sort?: "inserted_at" | "name" | "updated_at"; order?: "asc" | "desc"; include?: ("work" | "doors")[] };
    body: undefined;
    answer: { data: OwnedAgentView[]; metadata: ListAgentsMetadata };
  };
  deleteAgents: {
    path: {};
    query: {};
    body: { force?: boolean | null; ids: string[] };
    answer: { data: BulkDeletionView };
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
    query: { include?: ("work" | "doors")[] };
    body: undefined;
    answer: { data: OwnedAgentView };
  };
  updateAgent: {
    path: { agent_id: string };
    query: {};
    body: { agent: { a2a?: boolean; bio?: string | null; claims?: "shared" | "exclusive"; description?: string; foreign_access?: boolean; listed_in_directory?: boolean; max_attempts?: number | null; model_type?: string | null; name?: string; registry_access?: boolean; shared_with_organization?: boolean; tags?: string[] | null } };
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
  pauseAgent: {
    path: { agent_id: string };
    query: {};
    body: { reason: string };
    answer: { data: AgentView };
  };
  resumeAgent: {
    path: { agent_id: string };
    query: {};
    body: undefined;
    answer: { data: AgentView };
  };
  rotateAgentKey: {
    path: { agent_id: string };
    query: {};
    body: { current_password?: string | null };
    answer: { data: RegisteredAgentView };
  };
  removeWebhook: {
    path: { agent_id: string };
    query: {};
    body: undefined;
    answer: undefined;
  };
  findWebhook: {
    path: { agent_id: string };
    query: {};
    body: undefined;
    answer: { data: WebhookView };
  };
  setWebhook: {
    path: { agent_id: string };
    query: {};
    body: { url: string };
    answer: { data: SecretWebhookView };
  };
  listWebhookDeliveries: {
    path: { agent_id: string };
    query: { cursor?: string; limit?: number };
    body: undefined;
    answer: { data: WebhookDeliveryView[]; metadata: PageMetadata };
  };
  resendWebhookDelivery: {
    path: { agent_id: string; delivery_id: string };
    query: {};
    body: undefined;
    answer: { data: WebhookDeliveryView };
  };
  enableWebhook: {
    path: { agent_id: string };
    query: {};
    body: undefined;
    answer: { data: WebhookView };
  };
  rotateWebhookSecret: {
    path: { agent_id: string };
    query: {};
    body: { revoke_previous?: boolean | null };
    answer: { data: SecretWebhookView };
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
  listAttention: {
    path: {};
    query: { cursor?: string; limit?: number; state?: "open" | "answered" | "expired" | "all"; chat_id?: string };
    body: undefined;
    answer: { data: AttentionView[]; metadata: PageMetadata };
  };
  answerAttention: {
    path: { attention_id: string };
    query: {};
    body: { answer: { content?: string; decision?: "approve" | "approve_session" | "decline" } };
    answer: { data: AttentionView };
  };
  dismissAttention: {
    path: { attention_id: string };
    query: {};
    body: undefined;
    answer: { data: AttentionView };
  };
  findBulkDeletion: {
    path: { job_id: string };
    query: {};
    body: undefined;
    answer: { data: BulkDeletionView };
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
  deleteChats: {
    path: {};
    query: {};
    body: { ids: string[] };
    answer: { data: BulkDeletionView };
  };
  markAllChatsRead: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: MarkedRoomsView };
  };
  deleteChat: {
    path: { chat_id: string };
    query: {};
    body: undefined;
    answer: { data: ChatView };
  };
  findChat: {
    path: { chat_id: string };
    query: { include?: ("participants" | "last_message" | "membership" | "unread" | "message_counts")[] };
    body: undefined;
    answer: { data: ListedChatView };
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
  showBoard: {
    path: { chat_id: string };
    query: { include?: "history" };
    body: undefined;
    answer: { data: BoardView };
  };
  setGoal: {
    path: { chat_id: string };
    query: {};
    body: { goal_summary?: string | null; goal_title?: string | null };
    answer: { data: BoardView };
  };
  listMessages: {
    path: { chat_id: string };
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; message_type?: "text" | "tool_call" | "tool_result" | "thought" | "error" | "task" | "attention" | "system" | "participant"; message_types?: ("text" | "tool_call" | "tool_result" | "thought" | "error" | "task" | "attention" | "system" | "participant")[]; exclude_message_types?: ("text" | "tool_call" | "tool_result" | "thought" | "error" | "task" | "attention" | "system" | "participant")[]; since?: string; root?: string; after?: string; before?: string; around?: string; at?: string; from_sequence?: number };
    body: undefined;
    answer: { data: MessageView[]; metadata: HistoryMetadata };
  };
  sendMessage: {
    path: { chat_id: string };
    query: {};
    body: { message: { attachment_ids?: string[] | null; content: string; deliver_at?: string | null; every?: string | null; in_reply_to?: string | null; mentions?: ({ handle?: string | null; id?: string | null; kind?: "mention" | "reference"; name?: string | null; username?: string | null })[] | null; respond_by?: string | null } };
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
  setParticipantRole: {
    path: { chat_id: string; participant_id: string };
    query: {};
    body: { participant: { role: "member" | "admin" | "owner" } };
    answer: { data: ParticipantView };
  };
  markChatRead: {
    path: { chat_id: string };
    query: {};
    body: { message_id?: string | null; muted?: boolean; unread?: boolean };
    answer: { data: MarkedReadView };
  };
  listTasks: {
    path: { chat_id: string };
    query: { cursor?: string; limit?: number; state?: "active" | "cancelled" | "superseded" | "archived" | "all" };
    body: undefined;
    answer: { data: TaskView[]; metadata: PageMetadata };
  };
  createTask: {
    path: { chat_id: string };
    query: {};
    body: { detail?: string | null; subject: string; supersedes_id?: string | null };
    answer: { data: TaskView };
  };
  findTask: {
    path: { chat_id: string; task_id: string };
    query: { include?: "history" };
    body: undefined;
    answer: { data: TaskView };
  };
  changeTask: {
    path: { chat_id: string; task_id: string };
    query: {};
    body: { active_form?: string | null; comment?: string | null; detail?: string | null; linked_native_id?: string | null; state?: "active" | "cancelled" | "archived" | null; status?: "pending" | "in_progress" | "blocked" | "in_review" | "failed" | "completed" | null; subject?: string | null };
    answer: { data: TaskView };
  };
  listTaskHistory: {
    path: { chat_id: string; task_id: string };
    query: { cursor?: string; limit?: number };
    body: undefined;
    answer: { data: BoardEntryView[]; metadata: PageMetadata };
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
  listNotifications: {
    path: {};
    query: { cursor?: string; limit?: number };
    body: undefined;
    answer: { data: NotificationView[]; metadata: PageMetadata };
  };
  listNotificationChannels: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: NotificationChannelView[] };
  };
  createNotificationChannel: {
    path: {};
    query: {};
    body: { auth?: string; content?: "none" | "title" | "excerpt"; digest_minutes?: number; kind: "email" | "ntfy" | "web_push" | "webhook"; links?: boolean; p256dh?: string; quiet_hours?: string | null; token?: string; url?: string };
    answer: { data: NewNotificationChannelView };
  };
  removeNotificationChannel: {
    path: { channel_id: string };
    query: {};
    body: undefined;
    answer: undefined;
  };
  changeNotificationChannel: {
    path: { channel_id: string };
    query: {};
    body: { content?: "none" | "title" | "excerpt"; digest_minutes?: number; enabled?: boolean; links?: boolean; quiet_hours?: string | null };
    answer: { data: NotificationChannelView };
  };
  testNotificationChannel: {
    path: { channel_id: string };
    query: {};
    body: undefined;
    answer: { data: NotificationView };
  };
  findWebPushKey: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: WebPushKeyView };
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
    query: { cursor?: string; limit?: number; page?: number; page_size?: number; since?: string; until?: string; action?: "user.created" | "user.deleted" | "agent.registered" | "agent.marked" | "agent.updated" | "agent.paused" | "agent.resumed" | "webhook.set" | "webhook.removed" | "webhook.secret_rotated" | "webhook.enabled" | "webhook.disabled" | "webhook.resent" | "push.set" | "push.removed" | "notification.channel_created" | "notification.channel_changed" | "notification.channel_removed" | "notification.channel_disabled" | "agent.deleted" | "account.disabled" | "account.enabled" | "key.created" | "key.revoked" | "password.set" | "password.reset_issued" | "login_code.issued" | "second_factor.enabled" | "second_factor.removed" | "second_factor.recovery_code_used" | "second_factor.recovery_codes_renewed" | "passkey.added" | "passkey.removed" | "identity.linked" | "identity.unlinked" | "token.issued" | "plan.set" | "organization.created" | "organization.deleted" | "organization.renamed" | "organization.paused" | "organization.resumed" | "organization.max_hops_set" | "organization.max_pair_messages_set" | "organization.foreign_set" | "organization.budget_set" | "member.role_set" | "member.joined" | "member.left" | "member.removed" | "invitation.created" | "invitation.revoked" | "chat.created" | "chat.renamed" | "chat.deadline_set" | "chat.max_hops_set" | "chat.deleted" | "chat.exported" | "chat.stopped" | "chat.played" | "agent.interrupted" | "participant.added" | "participant.removed" | "participant.role_set" | "participant.left" | "login.succeeded" | "login.failed" | "session.token_reused" | "session.ended" | "message.edited" | "message.deleted" | "message.erased" | "legal_hold.placed" | "legal_hold.released" | "attention.answered" | "attention.dismissed" | "reminder.cancelled" | "file.uploaded" | "work.retried" | "work.dead_lettered" | "work.reassigned" | "work.sent_again" | "store.exported"; actor_id?: string; subject_id?: string };
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
  listPasskeys: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: PasskeyView[] };
  };
  addPasskey: {
    path: {};
    query: {};
    body: { ceremony: string; credential?: Record<string, unknown> | null; name: string };
    answer: { data: PasskeyView };
  };
  beginPasskey: {
    path: {};
    query: {};
    body: { code?: string; current_password: string };
    answer: { data: PasskeyChallengeView };
  };
  renamePasskey: {
    path: { passkey_id: string };
    query: {};
    body: { name: string };
    answer: { data: PasskeyView };
  };
  removePasskey: {
    path: { passkey_id: string };
    query: {};
    body: { code?: string; current_password: string };
    answer: undefined;
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
  listReminders: {
    path: {};
    query: { cursor?: string; limit?: number; state?: "scheduled" | "ended" | "all"; chat_id?: string };
    body: undefined;
    answer: { data: ReminderView[]; metadata: PageMetadata };
  };
  cancelReminder: {
    path: { reminder_id: string };
    query: {};
    body: undefined;
    answer: { data: ReminderView };
  };
  searchMessages: {
    path: {};
    query: { cursor?: string; limit?: number; q?: string };
    body: undefined;
    answer: { data: SearchHitView[]; metadata: PageMetadata };
  };
  showSecondFactor: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: SecondFactorView };
  };
  beginSecondFactor: {
    path: {};
    query: {};
    body: { current_password: string };
    answer: { data: NewSecondFactorView };
  };
  confirmSecondFactor: {
    path: {};
    query: {};
    body: { code: string };
    answer: { data: RecoveryCodesView };
  };
  renewRecoveryCodes: {
    path: {};
    query: {};
    body: { code: string; current_password: string };
    answer: { data: RecoveryCodesView };
  };
  removeSecondFactor: {
    path: {};
    query: {};
    body: { code?: string; current_password: string };
    answer: undefined;
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
  listAllAgents: {
    path: {};
    query: { cursor?: string; limit?: number; q?: string };
    body: undefined;
    answer: { data: AgentOverviewView[]; metadata: PageMetadata };
  };
  disableAgent: {
    path: { agent_id: string };
    query: {};
    body: { current_password?: string | null };
    answer: undefined;
  };
  enableAgent: {
    path: { agent_id: string };
    query: {};
    body: undefined;
    answer: undefined;
  };
  listAllAuditEntries: {
    path: {};
    query: { cursor?: string; limit?: number; since?: string; until?: string; action?: "user.created" | "user.deleted" | "agent.registered" | "agent.marked" | "agent.updated" | "agent.paused" | "agent.resumed" | "webhook.set" | "webhook.removed" | "webhook.secret_rotated" | "webhook.enabled" | "webhook.disabled" | "webhook.resent" | "push.set" | "push.removed" | "notification.channel_created" | "notification.channel_changed" | "notification.channel_removed" | "notification.channel_disabled" | "agent.deleted" | "account.disabled" | "account.enabled" | "key.created" | "key.revoked" | "password.set" | "password.reset_issued" | "login_code.issued" | "second_factor.enabled" | "second_factor.removed" | "second_factor.recovery_code_used" | "second_factor.recovery_codes_renewed" | "passkey.added" | "passkey.removed" | "identity.linked" | "identity.unlinked" | "token.issued" | "plan.set" | "organization.created" | "organization.deleted" | "organization.renamed" | "organization.paused" | "organization.resumed" | "organization.max_hops_set" | "organization.max_pair_messages_set" | "organization.foreign_set" | "organization.budget_set" | "member.role_set" | "member.joined" | "member.left" | "member.removed" | "invitation.created" | "invitation.revoked" | "chat.created" | "chat.renamed" | "chat.deadline_set" | "chat.max_hops_set" | "chat.deleted" | "chat.exported" | "chat.stopped" | "chat.played" | "agent.interrupted" | "participant.added" | "participant.removed" | "participant.role_set" | "participant.left" | "login.succeeded" | "login.failed" | "session.token_reused" | "session.ended" | "message.edited" | "message.deleted" | "message.erased" | "legal_hold.placed" | "legal_hold.released" | "attention.answered" | "attention.dismissed" | "reminder.cancelled" | "file.uploaded" | "work.retried" | "work.dead_lettered" | "work.reassigned" | "work.sent_again" | "store.exported"; actor_id?: string; subject_id?: string };
    body: undefined;
    answer: { data: AuditEntryView[]; metadata: PageMetadata };
  };
  listOpenConnections: {
    path: {};
    query: { cursor?: string; limit?: number };
    body: undefined;
    answer: { data: OpenConnectionView[]; metadata: ConnectionsMetadata };
  };
  listDisconnects: {
    path: {};
    query: { cursor?: string; limit?: number };
    body: undefined;
    answer: { data: DisconnectView[]; metadata: PageMetadata };
  };
  listOrganizations: {
    path: {};
    query: { cursor?: string; limit?: number };
    body: undefined;
    answer: { data: OrganizationInUseView[]; metadata: PageMetadata };
  };
  assignPlan: {
    path: { organization_id: string };
    query: {};
    body: { organization: { current_password?: string | null; plan: string } };
    answer: undefined;
  };
  showOverview: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: OverviewView };
  };
  listPlans: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: PlanInUseView[] };
  };
  showThroughput: {
    path: {};
    query: {};
    body: undefined;
    answer: { data: ThroughputView };
  };
  listUsers: {
    path: {};
    query: { cursor?: string; limit?: number; q?: string };
    body: undefined;
    answer: { data: AccountView[]; metadata: PageMetadata };
  };
  disableUser: {
    path: { user_id: string };
    query: {};
    body: { current_password?: string | null };
    answer: undefined;
  };
  enableUser: {
    path: { user_id: string };
    query: {};
    body: undefined;
    answer: undefined;
  };
  listFlaggedAgents: {
    path: {};
    query: { cursor?: string; limit?: number };
    body: undefined;
    answer: { data: AgentOverviewView[]; metadata: PageMetadata };
  };
  apiVersion: {
    path: {};
    query: {};
    body: undefined;
    answer: ProgramView;
  };
}

/** Paths are below /api/v1/me, unless they begin with /api/. */
export const ROUTES = {
  listAgents: "GET /agents",
  registerAgent: "POST /agents/register",
  deleteAgent: "DELETE /agents/{agent_id}",
  findAgent: "GET /agents/{agent_id}",
  updateAgent: "PATCH /agents/{agent_id}",
  listConnections: "GET /agents/{agent_id}/connections",
  listExecutions: "GET /agents/{agent_id}/executions",
  interruptAgent: "POST /agents/{agent_id}/executions/{execution_id}/interrupt",
  pauseAgent: "POST /agents/{agent_id}/pause",
  resumeAgent: "POST /agents/{agent_id}/resume",
  rotateAgentKey: "POST /agents/{agent_id}/rotate-key",
  listApiKeys: "GET /api-keys",
  createApiKey: "POST /api-keys",
  revokeApiKey: "DELETE /api-keys/{key_id}",
  listAttention: "GET /attention",
  answerAttention: "POST /attention/{attention_id}/answer",
  dismissAttention: "POST /attention/{attention_id}/dismiss",
  listChats: "GET /chats",
  createChat: "POST /chats",
  markAllChatsRead: "POST /chats/read",
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
  listParticipants: "GET /chats/{chat_id}/participants",
  addParticipant: "POST /chats/{chat_id}/participants",
  removeParticipant: "DELETE /chats/{chat_id}/participants/{participant_id}",
  setParticipantRole: "PATCH /chats/{chat_id}/participants/{participant_id}",
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
} as Record<keyof Operations, string>;
