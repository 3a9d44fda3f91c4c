DROP TABLE search_index;
DROP TABLE search_texts;
DROP TABLE search_rooms;
