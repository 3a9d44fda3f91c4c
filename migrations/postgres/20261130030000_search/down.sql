DROP TABLE search_texts;
DROP TABLE search_rooms;
