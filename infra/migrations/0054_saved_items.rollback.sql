drop index items_saved;
