drop index content_words_sample;
