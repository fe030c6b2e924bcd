drop table feed_states, feed_tokens, feed_orders;
