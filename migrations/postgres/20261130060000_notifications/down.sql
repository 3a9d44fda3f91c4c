DROP TABLE notification_links;
DROP TABLE notifications;
DROP TABLE notification_channels;
