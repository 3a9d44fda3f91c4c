DROP TABLE attention_items;
